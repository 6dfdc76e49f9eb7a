import { z } from 'zod';
import {
  environmentCallSchema,
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
  version: z.literal(1),
  tools: z.array(environmentToolSchema),
  formats: z.array(z.tuple([z.string(), formatJsonSchema])),
  refusal: formatJsonSchema.nullable(),
  tasks: z.array(
    z.strictObject({
      seed: z.number().int(),
      messages: z.array(openingMessageSchema),
      reference: z.array(environmentCallSchema),
      skillCalls: z.array(z.number().int()).nullable(),
    }),
  ),
  train: z.array(z.string()),
  heldOut: z.array(z.string()),
});
type TargetProfileJson = z.infer<typeof targetProfileJsonSchema>;

/** A profile in the form in which the store keeps it. */
export function profileToJson({ formats, refusal, ...rest }: TargetProfile): TargetProfileJson {
  return {
    version: 1,
    ...rest,
    formats: [...formats].map(([tool, format]) => [tool, formatToJson(format)]),
    refusal: refusal ? formatToJson(refusal) : null,
  };
}

/** The profile that `profileToJson` wrote. */
export function profileFromJson({ version: _, formats, refusal, ...rest }: TargetProfileJson): TargetProfile {
  return {
    ...rest,
    formats: new Map(formats.map(([tool, format]) => [tool, formatFromJson(format)])),
    refusal: refusal === null ? undefined : formatFromJson(refusal),
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
