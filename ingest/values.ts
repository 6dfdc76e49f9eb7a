/** Reads members of records, whose form nobody has checked. */

/** The members of a JSON object. */
export type Fields = Readonly<Record<string, unknown>>;

/** An object that is no list; else an object without members. */
export const fieldsOf = (value: unknown): Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : {};

/** Whether a value is an object and no list. */
export const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** A list; else an empty one. */
export const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? (value as unknown[]) : []);

/** The first text that has characters; else null. */
export const textOf = (...values: unknown[]): string | null =>
  values.find((value): value is string => typeof value === 'string' && value !== '') ?? null;

/** The JSON of a text; the value itself where it is no text or no JSON. */
export function unpacked(value: unknown): unknown {
  if (typeof value !== 'string' || !/^\s*[[{"]/.test(value)) return value;
  try {
    return JSON.parse(value) as unknown;
  } catch {
    return value;
  }
}

/** ISO 8601 of a time that is a text, or a number of seconds, milliseconds, microseconds or nanoseconds; else null. */
export function timeOf(value: unknown): string | null {
  if (typeof value === 'string' && !/^\d+$/.test(value)) {
    // A time without a zone is UTC, on every machine.
    const hasZone = /(?:Z|[+-]\d{2}:?\d{2})$/i.test(value.trim());
    return isoOf(Date.parse(hasZone || !/\d[T ]\d/.test(value) ? value : `${value.trim().replace(' ', 'T')}Z`));
  }
  const number = Number(value ?? Number.NaN);
  if (!(number > 0)) return null;
  const digits = Math.floor(Math.log10(number));
  return isoOf(number * (digits >= 17 ? 1e-6 : digits >= 14 ? 1e-3 : digits >= 11 ? 1 : 1_000));
}

const isoOf = (ms: number): string | null =>
  ms >= 0 && ms < 253_402_300_800_000 ? new Date(Math.floor(ms)).toISOString() : null;

/** Longest schemas of a conversation's tools, in characters, and their deepest nesting. */
const LONGEST_TOOLS = 500_000;
const DEEPEST_TOOLS = 60;

/** Schemas of tools in OpenAI's form; absent: there are none, or more than are kept. */
export function toolsOf(tools: unknown): { tools?: unknown[] } {
  const list = listOf(unpacked(tools)).map(toolOf).filter(isFields);
  if (list.length === 0 || deeperThan(list, DEEPEST_TOOLS) || JSON.stringify(list).length > LONGEST_TOOLS) return {};
  return { tools: list };
}

function toolOf(given: unknown): unknown {
  const tool = fieldsOf(unpacked(given));
  if (isFields(tool['function'])) return { type: 'function', function: tool['function'] };
  if (typeof tool['name'] !== 'string') return null;
  const parameters = tool['parameters'] ?? tool['input_schema'] ?? tool['inputSchema'];
  const { name, description } = tool;
  return {
    type: 'function',
    function: {
      name,
      ...(description !== undefined && { description }),
      ...(parameters !== undefined && { parameters }),
    },
  };
}

function deeperThan(value: unknown, most: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return most === 0 || Object.values(value).some((member) => deeperThan(member, most - 1));
}
