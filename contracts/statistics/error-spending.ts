/**
 * Confidence of the k-th comparison with the same served version. Its error is `(1 - confidence) * 6 / (pi^2 k^2)`, and
 * these errors sum to `1 - confidence` over all k. So over all nights, a version that no candidate beats is replaced
 * with at most this probability (alpha spending; Foster and Stine 2008, JRSS B 70:429-444).
 * @param comparison k, from 1.
 */
export function confidenceOfComparison(confidence: number, comparison: number): number {
  return 1 - ((1 - confidence) * 6) / (Math.PI * comparison) ** 2;
}
