import { z } from 'zod';
import { httpUrlSchema } from './http-url';

/** Allowed names for the variable of a signing key: an agent.yaml must not use another key of the worker. */
export const SECRET_VARIABLE = /^WHET_WEBHOOK_SECRET(_[A-Z0-9_]+)?$/;

/** The receiver of notices that a run waits for a person, or has ended. */
export const notifySpecSchema = z
  .strictObject({
    webhook: httpUrlSchema
      .optional()
      .describe(
        'Where notices are posted, in the format of Slack. Its server has to be named in WHET_WEBHOOK_ENDPOINTS of ' +
          'the worker. Absent: WHET_WEBHOOK_URL of the worker, where it is set. The address is kept in the store: ' +
          'one that is a secret belongs into WHET_WEBHOOK_URL.',
      ),
    keyVariable: z
      .string()
      .regex(SECRET_VARIABLE, { error: 'WHET_WEBHOOK_SECRET, or that with an ending such as _DESK' })
      .default('WHET_WEBHOOK_SECRET')
      .describe("Name of the worker's variable whose value signs the notices; without a value they are not signed."),
  })
  .prefault({});
export type NotifySpec = z.infer<typeof notifySpecSchema>;
