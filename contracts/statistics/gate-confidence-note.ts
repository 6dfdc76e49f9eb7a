/** Explains why a gain has two intervals; the report and the command line use the same words. */
import type { Evaluation } from '../artifacts/evaluation';

/**
 * A sentence for a gate that judges the gain at another confidence than the table of arms. Null if both confidences are
 * the same, or if the gate judged nothing separately.
 */
export function gateConfidenceNote({ judged, confidence }: Pick<Evaluation, 'judged' | 'confidence'>): string | null {
  if (judged === undefined || judged.confidence === confidence) return null;
  const percent = (share: number) => `${Number((share * 100).toFixed(3))} %`;
  return (
    `The gate judges the same gain at ${percent(judged.confidence)}, so its interval is wider than that of the table ` +
    `(${percent(confidence)}): two intervals of one gain, from the same tasks, trials and draws.`
  );
}
