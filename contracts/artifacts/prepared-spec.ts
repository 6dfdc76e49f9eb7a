import { z } from 'zod';
import { agentSpecSchema } from '../config/agent-spec';
import { artifactRefSchema } from './artifact-ref';
import { environmentFactsSchema } from '../config/environment-kinds/facts';

/** A model server's statements about its model; null if it makes none. */
const servedModelSchema = z.strictObject({
  /** Hash of the model directory. Only Whetstone's policy server reports it. */
  weightsSha256: z.string().nullable(),
  /** Place of the loaded model, in the server's own words. */
  root: z.string().nullable(),
  /** Maximum length of prompt and completion together, in tokens. */
  maxModelLength: z.number().nullable(),
});
export type ServedModel = z.infer<typeof servedModelSchema>;

/**
 * The agent's spec as a run uses it: defaults filled in, paths absolute, endpoints resolved. Frozen in the store by
 * `prepareRun`.
 */
export const preparedSpecSchema = z.strictObject({
  spec: agentSpecSchema,
  /** The environment's module; without one the agent.yaml, whose folder is the agent's. */
  environmentPath: z.string(),
  /** Hash of what decides an episode (docs/adr/0022-an-environment-has-a-kind.md); else of its section. */
  environmentSha256: z.string(),
  facts: environmentFactsSchema,
  /** Ids of named tasks; the place of an id is its seed. Absent: tasks have seeds alone. */
  tasks: z.array(z.string()).optional(),
  /** The tasks that a command printed when the run began. Absent: they are in a file, or have seeds alone. */
  printedTasks: artifactRefSchema.optional(),
  /** Empty: nothing is played, so no model answers. */
  modelBaseUrl: z.string(),
  /** Directory of the base model in save_pretrained format. Null: the run ends before it trains, and needs none. */
  modelPath: z.string().nullable(),
  /** Hash of that directory. Without one: of the weights that the server names, else of what it says of its model. */
  baseModelSha256: z.string(),
  /** The server's statements about the base model when the run began. Every later attempt compares them again. */
  servedModel: servedModelSchema,
  analyst: z.strictObject({ baseUrl: z.string(), model: z.string(), displayName: z.string() }),
  /** `unused`: nothing that needs a jail runs. */
  sandbox: z.strictObject({ mode: z.enum(['jail', 'unsafe', 'unused']), detail: z.string() }),
});
export type PreparedSpec = z.infer<typeof preparedSpecSchema>;
