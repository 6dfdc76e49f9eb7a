import { fieldsOf, listOf } from '../../values';

/** Attributes by their keys. */
export type Attributes = ReadonlyMap<string, unknown>;

/** Largest index of a list that attributes spell out: a longer one is cut. */
const LARGEST_INDEX = 20_000;
/** Deepest nesting of a value. */
const DEEPEST = 40;

/** Attributes of OTLP's JSON: a list of keys with typed values. Some exporters write an object. */
export function attributesOf(attributes: unknown): Attributes {
  if (!Array.isArray(attributes)) return new Map(Object.entries(fieldsOf(attributes)));
  const found = new Map<string, unknown>();
  for (const given of attributes as unknown[]) {
    const { key, value } = fieldsOf(given);
    if (typeof key === 'string') found.set(key, plainValue(value));
  }
  return found;
}

/** The value of OTLP's AnyValue. */
export function plainValue(given: unknown, depth = DEEPEST): unknown {
  if (depth === 0) return null;
  const value = fieldsOf(given);
  if ('stringValue' in value) return value['stringValue'];
  if ('boolValue' in value) return value['boolValue'];
  // 64-bit integers are texts in protobuf's JSON.
  if ('intValue' in value) return Number(value['intValue']);
  if ('doubleValue' in value) return value['doubleValue'];
  if ('arrayValue' in value)
    return listOf(fieldsOf(value['arrayValue'])['values']).map((one) => plainValue(one, depth - 1));
  if ('kvlistValue' in value) {
    const members = listOf(fieldsOf(value['kvlistValue'])['values']).map(fieldsOf);
    return Object.fromEntries(members.map(({ key, value: member }) => [String(key), plainValue(member, depth - 1)]));
  }
  return null;
}

/**
 * The elements of a list that attributes spell out: `prefix.0.role`, `prefix.1.role`, each with the rest of its keys.
 * `prefix` ends with a dot.
 */
export function elementsOf(attributes: Attributes, prefix: string): Attributes[] {
  const elements: Map<string, unknown>[] = [];
  for (const [key, value] of attributes) {
    if (!key.startsWith(prefix)) continue;
    const [, index, rest] = /^(\d{1,6})\.(.+)$/.exec(key.slice(prefix.length)) ?? [];
    if (index === undefined || rest === undefined || Number(index) > LARGEST_INDEX) continue;
    (elements[Number(index)] ??= new Map()).set(rest, value);
  }
  return elements.filter((element) => element !== undefined);
}

/** The first of these attributes that is a text with characters; else null. */
export function textIn(attributes: Attributes, ...keys: readonly string[]): string | null {
  for (const key of keys) {
    const value = attributes.get(key);
    if (typeof value === 'string' && value !== '') return value;
  }
  return null;
}
