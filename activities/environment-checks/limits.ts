/** Reward from which an episode counts as a success. */
export const SUCCESS = 0.99;

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
  /** Share of tasks that call for the capability; the others are its exceptions and what surrounds it. */
  minTasksWithSkill: 0.5,
  maxHeldOutTexts: 0.01,
  /** Share of the system message's different words that the agent never meets. */
  maxStrangeWordsTold: 0.25,
  /** Share of openings with a word that no opening of the agent's own has. */
  maxStrangeOpenings: 0.25,
  /** Share of a kind of change that may be refused though the agent's environment accepts it. */
  maxWaysRefused: 0.25,
  /** Share of a kind of change that may succeed though it never does in the agent's environment. */
  maxFaultsPaid: 0.1,
  /** Share of answers of a tool that may be of a kind that the agent's tool never gives there. */
  maxStrangeAnswers: 0.1,
  /**
   * Share of tasks that may be solved otherwise than the agent's own tasks with the same opening, beyond the share of
   * those that are solved otherwise than each other.
   */
  maxSolvedOtherwise: 0.1,
  /** Share of the tasks whose solution must be made of the tools of solutions of the agent's own tasks. */
  minFamiliarSolutions: 0.5,
} as const;
