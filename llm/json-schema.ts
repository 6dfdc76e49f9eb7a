import { z } from 'zod';

/**
 * Keywords that some endpoints refuse in strict structured outputs. They can be left out, because the zod schema still
 * checks the answer.
 */
const UNSUPPORTED = new Set([
  '$schema',
  'minLength',
  'maxLength',
  'minimum',
  'maximum',
  'exclusiveMinimum',
  'exclusiveMaximum',
  'minItems',
  'maxItems',
  'pattern',
  'format',
  'default',
]);

/**
 * Converts a zod schema to a JSON schema for `response_format: {type: "json_schema", strict: true}`. Throws TypeError
 * if an object in it allows unknown keys or has optional ones, because strict mode supports neither.
 */
export function strictJsonSchema(schema: z.ZodType): Record<string, unknown> {
  return strip(z.toJSONSchema(schema, { io: 'input' }), '') as Record<string, unknown>;
}

function strip(node: unknown, path: string): unknown {
  if (Array.isArray(node)) return node.map((item, i) => strip(item, `${path}/${i}`));
  if (typeof node !== 'object' || node === null) return node;
  const object = node as Record<string, unknown>;
  if (object.type === 'object') requireClosed(object, path);
  const result: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(object)) {
    // The names below `properties` are field names, which may equal a keyword.
    if (key === 'properties')
      result[key] = Object.fromEntries(
        Object.entries(value as object).map(([name, inner]) => [name, strip(inner, `${path}/${name}`)]),
      );
    else if (!UNSUPPORTED.has(key)) result[key] = strip(value, `${path}/${key}`);
  }
  return result;
}

function requireClosed(object: Record<string, unknown>, path: string): void {
  const properties = Object.keys(object.properties ?? {});
  const required = (object.required ?? []) as string[];
  if (object.additionalProperties !== false || required.length !== properties.length) {
    throw new TypeError(
      `The answer schema has an object at ${path || '/'} with optional or unknown keys: use z.strictObject and ` +
        'nullable().',
    );
  }
}
