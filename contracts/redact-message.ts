import { type ChatMessage, withTexts } from './artifacts/trajectory';
import type { RedactionRule } from './config/analyst-spec';
import type { TraceSettings } from './config/gateway-config';
import { REDACTION_FINDERS } from './redaction-rules';

/**
 * Levels of JSON in JSON that are read. Deeper text is read as plain text: a client can write many levels in few
 * characters, and what is changed is written with twice the backslashes at each.
 */
const JSON_LEVELS = 4;

/** Replaces personal data in a message. */
export type Redaction = (message: ChatMessage) => ChatMessage;

/**
 * The redaction for these settings. Their own patterns are applied first. Unlike the analyst's redaction, it cannot be
 * reversed, and equal values get no common placeholder. So its rules also replace text that is only possibly personal
 * data. Throws SyntaxError for an invalid pattern.
 */
export function createRedaction({
  redact,
  redactPatterns,
}: Pick<TraceSettings, 'redact' | 'redactPatterns'> & Partial<TraceSettings>): Redaction {
  const own = redactPatterns.map((pattern) => ({ pattern: new RegExp(pattern, 'g'), word: '[redacted]' }));
  const builtIn = (Object.keys(REDACTION_FINDERS) as RedactionRule[])
    .filter((rule) => redact.includes(rule))
    .map((rule) => ({
      pattern: REDACTION_FINDERS[rule].wide ?? REDACTION_FINDERS[rule].pattern,
      word: `[${rule}]`,
    }));
  if (own.length + builtIn.length === 0) return (message) => message;
  const replaced = (text: string) => replaceAll(text, [...own, ...builtIn]);
  const cleanUpTo = (levels: number, text: string): string => {
    if (levels === 0) return replaced(text);
    // An own pattern may be meant for more than one value.
    const first = isJson(text) ? replaceAll(text, own) : text;
    return isJson(first) ? cleanJson(first, (inner) => cleanUpTo(levels - 1, inner)) : replaced(first);
  };
  const clean = (text: string): string => cleanUpTo(JSON_LEVELS, text);
  return (message) => {
    const { reasoning_content: reasoning, tool_calls: calls, tool_call_id: id, ...rest } = withTexts(message, clean);
    return {
      ...rest,
      ...(reasoning !== undefined && { reasoning_content: clean(reasoning) }),
      ...(calls && {
        tool_calls: calls.map(({ function: called, ...call }) => ({
          ...call,
          id: replaced(call.id),
          function: { ...called, name: replaced(called.name) },
        })),
      }),
      ...(id !== undefined && { tool_call_id: replaced(id) }),
    };
  };
}

const replaceAll = (text: string, rules: readonly { pattern: RegExp; word: string }[]): string =>
  rules.reduce((now, { pattern, word }) => now.replace(pattern, word), text);

function isJson(text: string): boolean {
  if (!/^\s*[[{"]/.test(text)) return false;
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** Texts, with the colon behind a name, and numbers of JSON. */
const TOKENS = /"[^"\\]*(?:\\.[^"\\]*)*"(\s*:)?|-?\d[\d.eE+-]*/g;

/**
 * Replaces in each text and number of JSON, where escapes would hide characters. What has nothing to replace keeps its
 * bytes. A value is read with its name, which may tell what it is, and which may itself have something to replace.
 */
function cleanJson(json: string, clean: (text: string) => string): string {
  let names: string[] = [];
  return json.replace(TOKENS, (token: string, colon: string | undefined) => {
    const written = token.slice(0, token.length - (colon?.length ?? 0));
    const value = written.startsWith('"') ? (JSON.parse(written) as string) : written;
    const alone = clean(value);
    const cleaned = alone !== value || names.length === 0 || isJson(value) ? alone : behindNames(value, names, clean);
    names = colon === undefined ? [] : [...new Set([value, cleaned])];
    return cleaned === value ? token : JSON.stringify(cleaned) + (colon ?? '');
  });
}

/** What is left of a value where it is read behind one of the names. */
function behindNames(value: string, names: readonly string[], clean: (text: string) => string): string {
  for (const before of names.map((name) => `${name}: `)) {
    const named = clean(before + value);
    if (named.startsWith(before) && named !== before + value) return named.slice(before.length);
  }
  return value;
}
