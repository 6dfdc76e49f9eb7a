import type { ChatMessage } from '../../contracts/artifacts/trajectory';
import { wellFormed, startOf } from '../../contracts/clean-text';

/** Most levels of nested objects and lists in the arguments of a call, as in the trainer's `chat/renderer.py`. */
const MOST_LEVELS = 48;
/** What OpenAI's API accepts as the name of a function. */
const NAME = /^[A-Za-z0-9_-]{1,64}$/;

/**
 * The arguments of a call as an object; null when they are no JSON object, or nest too deep for an environment. Empty
 * text, `null` and `""` mean no arguments. Halves of surrogate pairs are replaced: no request to an environment can
 * carry them.
 */
export function parseArguments(text: string): Record<string, unknown> | null {
  if (isEmpty(text)) return {};
  try {
    const value = JSON.parse(text, wellFormedMember) as unknown;
    return isObject(value) && hasLevels(value, MOST_LEVELS) ? value : null;
  } catch {
    return null;
  }
}

/**
 * A conversation in the form in which a model server gets it back. A server that parses the history would refuse every
 * later turn because of one odd reply. So arguments that are no JSON object become `{}`, and a tool's name that no
 * server accepts becomes one that they do. Names in `known` stay. What is well formed keeps its bytes.
 */
export function sentMessages(messages: readonly ChatMessage[], known: ReadonlySet<string>): ChatMessage[] {
  return messages.map((message) => {
    const { role, content, tool_calls: calls } = message;
    if (role !== 'assistant') return message;
    if (calls === undefined) return content === null ? { ...message, content: '' } : message;
    return {
      ...message,
      tool_calls: calls.map((call) => ({
        ...call,
        function: {
          name: known.has(call.function.name) ? call.function.name : sentName(call.function.name),
          arguments: sentArguments(call.function.arguments),
        },
      })),
    };
  });
}

/** A request's JSON text. Halves of surrogate pairs, which strict servers refuse, are replaced. */
export function requestText(body: unknown): string {
  const text = JSON.stringify(body);
  // JSON.stringify escapes halves of pairs, and no other character with a code that begins so.
  return /\\ud[89a-f]/.test(text) ? JSON.stringify(body, wellFormedMember) : text;
}

function sentArguments(text: string): string {
  const parsed = parseArguments(text);
  if (parsed === null || isEmpty(text)) return '{}';
  const isWell = !/\\ud[89a-f]/.test(JSON.stringify(JSON.parse(text)));
  return isWell ? text : JSON.stringify(parsed);
}

/** Servers write null arguments, and empty text, as JSON too. */
const isEmpty = (text: string): boolean => ['', 'null', '""'].includes(text.trim());

const sentName = (name: string): string =>
  NAME.test(name) ? name : startOf(name.replace(/[^A-Za-z0-9_-]/g, '_'), 64) || 'unnamed';

function wellFormedMember(_: string, member: unknown): unknown {
  if (typeof member === 'string') return wellFormed(member);
  if (!isObject(member) || Object.keys(member).every((key) => wellFormed(key) === key)) return member;
  return Object.fromEntries(Object.entries(member).map(([key, value]) => [wellFormed(key), value]));
}

function hasLevels(value: unknown, room: number): boolean {
  const inner: unknown[] = typeof value === 'object' && value !== null ? Object.values(value) : [];
  return room > 0 && inner.every((one) => hasLevels(one, room - 1));
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
