import { z } from 'zod';
import { BATCH_KIND, type AnalystUse, type CallUse } from './analyst-use';

const count = z.int().nonnegative();
const tokens = { promptTokens: count, completionTokens: count, cachedTokens: count };

/** The record of a billed call. Together, the records of all segments are the calls that a run has paid for. */
export const callRecordSchema = z.object({
  /** Ends with BATCH_KIND for a call through the Batch API. */
  kind: z.string(),
  /** Content key of the call. Two records of a run have the same key only if a call was paid twice. */
  key: z.string(),
  model: z.string(),
  /** Number of billed answers: 1 plus the re-asks. */
  asks: count,
  ...tokens,
  /** Number of HTTP requests. */
  tries: count,
  /** True if no valid answer came. */
  unanswered: z.boolean().optional(),
  /** True if the episode was shortened to fit. */
  shortened: z.boolean().optional(),
  /** Number of replaced values in the prompt, by redaction rule. */
  redacted: z.record(z.string(), count).optional(),
  /**
   * The part of the tokens above that an earlier, invalid answer of the Batch API used. It counts as one of the asks.
   */
  wastedInBatch: z.object(tokens).optional(),
});
export type CallRecord = z.infer<typeof callRecordSchema>;

/** The use of a recorded call, by kind. */
export function useOfRecord(record: CallRecord): AnalystUse {
  const { kind, asks, tries, wastedInBatch: wasted } = record;
  const own: CallUse = {
    calls: 1,
    asks: asks - (wasted === undefined ? 0 : 1),
    tries,
    promptTokens: record.promptTokens - (wasted?.promptTokens ?? 0),
    cachedTokens: record.cachedTokens - (wasted?.cachedTokens ?? 0),
    completionTokens: record.completionTokens - (wasted?.completionTokens ?? 0),
    unanswered: record.unanswered === true ? 1 : 0,
    shortened: record.shortened === true ? 1 : 0,
    redacted: record.redacted ?? {},
  };
  if (wasted === undefined) return { [kind]: own };
  const inBatch = { calls: 0, asks: 1, tries: 1, ...wasted, unanswered: 0, shortened: 0, redacted: {} };
  return { [kind]: own, [`${kind}${BATCH_KIND}`]: inBatch };
}
