// tier: unit
import { z } from 'zod';
import { contentKey, strictJsonSchema } from '../../llm';

test('keywords that strict mode refuses are left out, names equal to keywords stay', () => {
  const schema = z.strictObject({
    format: z.string().min(1).max(9).regex(/a/),
    pattern: z.array(z.int().min(0)).max(3),
  });
  expect(strictJsonSchema(schema)).toEqual({
    type: 'object',
    properties: { format: { type: 'string' }, pattern: { type: 'array', items: { type: 'integer' } } },
    required: ['format', 'pattern'],
    additionalProperties: false,
  });
});

test('an optional key is refused with its place', () => {
  expect(() => strictJsonSchema(z.strictObject({ a: z.strictObject({ b: z.string().optional() }) }))).toThrow(/\/a/);
});

test('an open object is refused', () => {
  expect(() => strictJsonSchema(z.looseObject({ a: z.string() }))).toThrow(TypeError);
});

test('content keys tell where one part ends and the next begins', () => {
  expect(contentKey('ab', 'c')).not.toBe(contentKey('a', 'bc'));
  expect(contentKey('a', '')).not.toBe(contentKey('a'));
  expect(contentKey('a')).toMatch(/^[0-9a-f]{64}$/);
});
