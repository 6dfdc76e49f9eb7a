/** Settings of the gateway's router, one schema for each `kind`. A setting that a kind does not read is refused. */
import { z } from 'zod';
import { milliseconds } from './milliseconds';

/** Setting of every router that asks a server: how long its decision may take. */
const timeLimit = {
  timeoutMs: milliseconds
    .default(150)
    .describe('Time limit of the routing decision; after it the base model gets the conversation.'),
};

/** Settings of every router that asks the base model for a label. */
const labelQuestion = {
  ...timeLimit,
  minCoveredMass: z
    .number()
    .min(0)
    .max(1)
    .default(0)
    .describe("When the labels of the menu have less probability than this, the router's answer is not believed."),
};

const promotedSettingsSchema = z
  .strictObject({
    // The discriminator of a union has no default of its own in zod. An optional literal also matches a missing `kind`.
    kind: z.literal('promoted').optional().default('promoted'),
    ...timeLimit,
  })
  .describe('The router that the version was judged with. Any other kind serves what nobody has judged.');

const logitsSettingsSchema = z
  .strictObject({ kind: z.literal('logits'), ...labelQuestion })
  .describe('The base model reads the task and one line per capability, and picks a label.');

const fixedSettingsSchema = z
  .strictObject({
    kind: z.literal('fixed'),
    capability: z
      .string()
      .optional()
      .describe("Id of the capability that gets every conversation; absent: the version's first."),
  })
  .describe('Every conversation gets the same capability. For comparisons.');

/** Settings of a router of any kind; `kind` is `promoted` when it is absent. */
export const routerSettingsSchema = z.discriminatedUnion('kind', [
  promotedSettingsSchema,
  logitsSettingsSchema,
  fixedSettingsSchema,
]);
export type RouterSettings = z.infer<typeof routerSettingsSchema>;
