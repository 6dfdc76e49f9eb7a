import { z } from 'zod';

/** Number of failed episodes by cause: a `FailedByCause` in an artifact. */
export const failedByCauseSchema = z.record(z.string(), z.int().positive());
