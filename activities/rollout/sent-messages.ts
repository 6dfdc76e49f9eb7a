import type { ChatMessage } from '../../contracts/artifacts/trajectory';
import { wellFormed, startOf } from '../../contracts/clean-text';

/** Largest nesting of objects and lists in the arguments of a call, as in the trainer's `chat/tool_calls.py`. */
const MOST_LEVELS = 48;
/** The form of a function name in OpenAI's API. */
const NAME = /^[A-Za-z0-9_-]{1,64}$/;

/** Numbers that are written in JSON as they were read (TC39, JSON.parse source text access). */
const exact = JSON as unknown as { rawJSON(text: string): unknown; isRawJSON(value: unknown): boolean };

/**
 * The arguments of a call as an object; null if they are no JSON object, or if they are nested too deep for an
 * environment. Empty text, `null` and `""` mean no arguments. Halves of surrogate pairs are replaced, because no
 * request to an environment can carry them. Written as JSON, numbers are as the model wrote them: Python has longer
 * ones than JavaScript, and 2.0 is no whole number there.
 */
export function parseArguments(text: string): Record<string, unknown> | null {
  if (isEmpty(text)) return {};
  try {
    const value = JSON.parse(text, argumentMember as (key: string, member: unknown) => unknown) as unknown;
    // A bare number is an object too where it is kept as it was written.
    return isObject(value) && !exact.isRawJSON(value) && hasLevels(value, MOST_LEVELS) ? value : null;
  } catch {
    return null;
  }
}

/**
 * A conversation in the form that is sent back to a model server. A server that parses the history would refuse every
 * later turn because of one malformed reply. So arguments that are no JSON object become `{}`, and a tool name that no
 * server accepts is replaced by an acceptable one. Names in `known` stay unchanged. Well-formed parts keep their bytes.
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

/** A request's JSON text. Halves of surrogate pairs are replaced, because strict servers refuse them. */
export function requestText(body: unknown): string {
  const text = JSON.stringify(body);
  // JSON.stringify escapes only halves of pairs with a code that begins like this.
  return /\\ud[89a-f]/.test(text) ? JSON.stringify(body, wellFormedMember) : text;
}

function sentArguments(text: string): string {
  const parsed = parseArguments(text);
  if (parsed === null || isEmpty(text)) return '{}';
  const isWell = !/\\ud[89a-f]/.test(JSON.stringify(JSON.parse(text)));
  return isWell ? text : JSON.stringify(parsed);
}

/** Servers also write null and empty arguments as JSON text. */
const isEmpty = (text: string): boolean => ['', 'null', '""'].includes(text.trim());

const sentName = (name: string): string =>
  NAME.test(name) ? name : startOf(name.replace(/[^A-Za-z0-9_-]/g, '_'), 64) || 'unnamed';

/** Throws RangeError for a number that Python could not write as JSON. */
function argumentMember(key: string, member: unknown, { source }: { source: string }): unknown {
  if (typeof member !== 'number') return wellFormedMember(key, member);
  if (!Number.isFinite(member)) throw new RangeError(`${source} is beyond all numbers.`);
  return String(member) === source ? member : exact.rawJSON(source);
}

function wellFormedMember(_: string, member: unknown): unknown {
  if (typeof member === 'string') return wellFormed(member);
  if (!isObject(member) || Object.keys(member).every((key) => wellFormed(key) === key)) return member;
  return Object.fromEntries(Object.entries(member).map(([key, value]) => [wellFormed(key), value]));
}

function hasLevels(value: unknown, room: number): boolean {
  const isLeaf = typeof value !== 'object' || value === null || exact.isRawJSON(value);
  const inner: unknown[] = isLeaf ? [] : Object.values(value);
  return room > 0 && inner.every((one) => hasLevels(one, room - 1));
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
