import { z } from 'zod';
import { count } from '../numbers';

/** A field that nobody writes: a prepared spec has it filled in, with what stands for nothing. */
const unwritten = <Schema extends z.ZodType>(schema: Schema) => schema.meta({ internal: true });

const noTasks = unwritten(z.strictObject({ start: z.literal(0), count: z.literal(0) }).optional());
const nothing = unwritten(z.literal(1).default(1));

const schema = z.strictObject({
  kind: z.literal('traces').describe('Conversations that `whet ingest` has read. Nothing is played.'),
  most: count.optional().describe('Conversations at most, those that began last. Absent: 20,000.'),
  ...{ trainSeeds: noTasks, heldOutSeeds: noTasks, maxTurns: nothing, successReward: nothing },
});
/** Conversations in place of an environment. */
export type TracesSection = z.infer<typeof schema>;

/** `kind: traces`. */
export const tracesKind = { kind: 'traces', schema, expand: null } as const;
