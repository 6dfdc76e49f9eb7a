import { z } from 'zod';
import {
  environmentCallSchema,
  environmentToolSchema,
  openingMessageSchema,
} from '../../contracts/messages/environment-protocol';
import type { Format } from '../environment-checks/observation-format';
import type { TargetProfile } from '../environment-checks/target-profile';

/** A form as JSON: its set and maps as lists. */
interface WrittenFormat {
  kinds: string[];
  objects: [names: string, members: [name: string, format: WrittenFormat][]][];
  element: WrittenFormat | null;
}

const formatSchema: z.ZodType<WrittenFormat> = z.lazy(() =>
  z.strictObject({
    kinds: z.array(z.string()),
    objects: z.array(z.tuple([z.string(), z.array(z.tuple([z.string(), formatSchema]))])),
    element: formatSchema.nullable(),
  }),
);

/** A target profile as it is kept in the store. */
export const writtenProfileSchema = z.strictObject({
  version: z.literal(1),
  tools: z.array(environmentToolSchema),
  formats: z.array(z.tuple([z.string(), formatSchema])),
  refusal: formatSchema.nullable(),
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
type WrittenProfile = z.infer<typeof writtenProfileSchema>;

/** A profile as JSON. */
export function writeProfile({ formats, refusal, ...rest }: TargetProfile): WrittenProfile {
  return {
    version: 1,
    ...rest,
    formats: [...formats].map(([tool, format]) => [tool, writeFormat(format)]),
    refusal: refusal ? writeFormat(refusal) : null,
  };
}

/** The profile that was written. */
export function readProfile({ version: _, formats, refusal, ...rest }: WrittenProfile): TargetProfile {
  return {
    ...rest,
    formats: new Map(formats.map(([tool, format]) => [tool, readFormat(format)])),
    refusal: refusal === null ? undefined : readFormat(refusal),
  };
}

function writeFormat({ kinds, objects, element }: Format): WrittenFormat {
  return {
    kinds: [...kinds],
    objects: [...objects].map(([names, members]) => [
      names,
      [...members].map(([name, format]) => [name, writeFormat(format)]),
    ]),
    element: element && writeFormat(element),
  };
}

function readFormat({ kinds, objects, element }: WrittenFormat): Format {
  return {
    kinds: new Set(kinds),
    objects: new Map(
      objects.map(([names, members]) => [names, new Map(members.map(([name, format]) => [name, readFormat(format)]))]),
    ),
    element: element && readFormat(element),
  };
}
