/** Thresholds of the checks; docs/environments.md has their sources. Shares and rewards are in [0, 1]. */
export const CHECK_LIMITS = {
  minReferenceReward: 0.99,
  maxTrivialReward: 0.2,
  /** What a claim of success or a text for the grader may earn on average over a neutral text in its place. */
  maxTextGain: 0.05,
  maxNearDuplicates: 0.05,
  minDistinctSolutions: 0.2,
  /** Tasks. */
  minTaskSpace: 1000,
  /**
   * Mean reward with the capability right and another call wrong, minus the mean reward with the capability wrong and
   * the rest right.
   */
  minIsolationGap: 0.1,
  /**
   * Share of episodes that may succeed with the capability's calls wrong: a wrong argument is right by chance at times.
   */
  maxSuccessWithoutSkill: 0.1,
  maxHeldOutTexts: 0.01,
} as const;
