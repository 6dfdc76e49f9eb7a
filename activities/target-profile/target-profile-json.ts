import { z } from 'zod';
import {
  environmentMoveSchema,
  environmentToolSchema,
  openingMessageSchema,
} from '../../contracts/messages/environment-protocol';
import type { Format } from '../environment-checks/observation-format';
import type { TargetProfile } from '../environment-checks/target-profile';

/** A form as JSON: sets and maps as lists. */
interface FormatJson {
  kinds: string[];
  objects: [names: string, members: [name: string, format: FormatJson][]][];
  element: FormatJson | null;
}

const formatJsonSchema: z.ZodType<FormatJson> = z.lazy(() =>
  z.strictObject({
    kinds: z.array(z.string()),
    objects: z.array(z.tuple([z.string(), z.array(z.tuple([z.string(), formatJsonSchema]))])),
    element: formatJsonSchema.nullable(),
  }),
);

/** A target profile as the store keeps it. */
export const targetProfileJsonSchema = z.strictObject({
  version: z.literal(3),
  tools: z.array(environmentToolSchema),
  formats: z.array(z.tuple([z.string(), formatJsonSchema])),
  refusal: formatJsonSchema.nullable(),
  tasks: z.array(
    z.strictObject({
      seed: z.number().int(),
      messages: z.array(openingMessageSchema),
      reference: z.array(environmentMoveSchema),
      skillCalls: z.array(z.number().int()).nullable(),
    }),
  ),
  system: z.array(z.string()),
  solved: z.array(z.strictObject({ prompt: z.string(), reference: z.array(environmentMoveSchema) })),
  judgement: z.strictObject({
    changes: z.array(z.tuple([z.string(), z.strictObject({ tried: z.number(), succeeded: z.number() })])),
    answers: z.array(z.tuple([z.string(), z.array(z.tuple([z.string(), z.number()]))])),
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
type TargetProfileJson = z.infer<typeof targetProfileJsonSchema>;

/** A profile in the form in which the store keeps it. */
export function profileToJson({ formats, refusal, judgement, ...rest }: TargetProfile): TargetProfileJson {
  return {
    version: 3,
    ...rest,
    formats: [...formats].map(([tool, format]) => [tool, formatToJson(format)]),
    refusal: refusal ? formatToJson(refusal) : null,
    judgement: {
      changes: [...judgement.changes],
      answers: [...judgement.answers].map(([change, kinds]) => [change, [...kinds]]),
      byChange: judgement.byChange,
    },
  };
}

/** The profile that `profileToJson` wrote. */
export function profileFromJson({
  version: _,
  formats,
  refusal,
  judgement,
  ...rest
}: TargetProfileJson): TargetProfile {
  return {
    ...rest,
    formats: new Map(formats.map(([tool, format]) => [tool, formatFromJson(format)])),
    refusal: refusal === null ? undefined : formatFromJson(refusal),
    judgement: {
      changes: new Map(judgement.changes),
      answers: new Map(judgement.answers.map(([change, kinds]) => [change, new Map(kinds)])),
      byChange: judgement.byChange,
    },
  };
}

function formatToJson({ kinds, objects, element }: Format): FormatJson {
  return {
    kinds: [...kinds],
    objects: [...objects].map(([names, members]) => [
      names,
      [...members].map(([name, format]) => [name, formatToJson(format)]),
    ]),
    element: element && formatToJson(element),
  };
}

function formatFromJson({ kinds, objects, element }: FormatJson): Format {
  return {
    kinds: new Set(kinds),
    objects: new Map(
      objects.map(([names, members]) => [
        names,
        new Map(members.map(([name, format]) => [name, formatFromJson(format)])),
      ]),
    ),
    element: element && formatFromJson(element),
  };
}
