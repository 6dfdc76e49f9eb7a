import { z } from 'zod';
import { agentSpecSchema } from '../config/agent-spec';

/**
 * The agent's spec as a run uses it: defaults filled in, paths absolute, endpoints resolved. Frozen in the store by
 * `prepareRun`.
 */
export const preparedSpecSchema = z.strictObject({
  spec: agentSpecSchema,
  environmentPath: z.string(),
  environmentSha256: z.string(),
  modelBaseUrl: z.string(),
  /** Directory of the base model in save_pretrained format. */
  modelPath: z.string(),
  baseModelSha256: z.string(),
  analyst: z.strictObject({ baseUrl: z.string(), model: z.string(), displayName: z.string() }),
  sandbox: z.strictObject({ mode: z.enum(['jail', 'unsafe']), detail: z.string() }),
});
export type PreparedSpec = z.infer<typeof preparedSpecSchema>;
