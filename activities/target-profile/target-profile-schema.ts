import { z } from 'zod';
import {
  environmentMoveSchema,
  environmentToolSchema,
  openingMessageSchema,
} from '../../contracts/messages/environment-protocol';
import type { Format } from '../environment-checks/observation-format';

/** A set, which JSON keeps as a list. */
const setSchema = z.codec(z.array(z.string()), z.set(z.string()), {
  decode: (list) => new Set(list),
  encode: (set) => [...set],
});

/** A map, which JSON keeps as the list of its entries. */
const mapOf = <V extends z.ZodType>(value: V) =>
  z.codec(z.array(z.tuple([z.string(), value])), z.custom<Map<string, z.output<V>>>(), {
    decode: (entries) => new Map(entries as [string, z.output<V>][]),
    encode: (map) => [...map],
  });

const formatSchema: z.ZodType<Format, unknown> = z.lazy(() =>
  z.strictObject({
    kinds: setSchema,
    objects: mapOf(mapOf(formatSchema)),
    element: formatSchema.nullable(),
  }),
);

const profileSchema = z.strictObject({
  tools: z.array(environmentToolSchema),
  hasSay: z.boolean(),
  formats: mapOf(formatSchema),
  refusal: formatSchema.nullable(),
  refused: z.array(z.strictObject({ name: z.string(), arguments: z.string(), observation: z.string() })),
  tasks: z.array(
    z.strictObject({
      seed: z.int(),
      messages: z.array(openingMessageSchema),
      reference: z.array(environmentMoveSchema),
      skillCalls: z.array(z.int()).nullable(),
    }),
  ),
  system: z.array(z.string()),
  solved: z.array(
    z.strictObject({
      prompt: z.string(),
      reference: z.array(environmentMoveSchema),
      observations: z.array(z.string()),
    }),
  ),
  judgement: z.strictObject({
    changes: mapOf(z.strictObject({ tried: z.number(), succeeded: z.number() })),
    answers: mapOf(mapOf(z.number())),
    byChange: z.array(
      z.strictObject({
        change: z.string(),
        about: z.string(),
        tried: z.number(),
        succeeded: z.number(),
        answers: z.array(z.strictObject({ kind: z.string(), count: z.number(), example: z.string() })),
      }),
    ),
  }),
  train: z.array(z.string()),
  heldOut: z.array(z.string()),
});

/** A target profile as the store keeps it. */
export const storedProfileSchema = z.strictObject({ version: z.literal(6), profile: profileSchema });
