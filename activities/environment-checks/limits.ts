/** Reward from which an episode counts as a success. */
export const SUCCESS = 0.99;

/**
 * Seconds by which the clock of another process is ahead: 400 days and more than 12 hours. So no part of its date and
 * time is the same.
 */
export const AHEAD_SECONDS = 34_604_597;

/** Thresholds of the checks; docs/explanations/environments.md has their sources. Shares and rewards are in [0, 1]. */
export const CHECK_LIMITS = {
  minReferenceReward: 0.99,
  maxTrivialReward: 0.2,
  /**
   * A claim of success or a text for the grader may earn at most this much more, on average, than a neutral text in its
   * place.
   */
  maxTextGain: 0.05,
  /** Mean reward for a right beginning that is given up before the capability shows. */
  maxSafeReward: 0.4,
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
   * Share of episodes that may succeed although the capability's calls are wrong: a wrong argument can be right by
   * chance.
   */
  maxSuccessWithoutSkill: 0.1,
  /** Least share of tasks that need the capability; the others are exceptions and tasks around it. */
  minTasksWithSkill: 0.5,
  maxHeldOutTexts: 0.01,
  /** The share of held-out tasks that are asked word for word may be this many times that of train tasks. */
  maxHeldOutFactor: 3,
  /**
   * Share of tasks that may give the answer away by chance: the opening states a call of the solution (beyond the share
   * among the agent's own tasks), or the answer to a wrong call names the right value.
   */
  maxAnswersTold: 0.05,
  /** Share of openings that may give an argument that the agent has to look up in its own tasks. */
  maxOpeningsThatGive: 0.9,
  /** Least share of openings that give an argument that the openings of the agent's own tasks give. */
  minOpeningsThatGive: 0.5,
  /** Share of tasks in which what has to be found out may be the same. */
  maxSameFoundOut: 0.9,
  /** A kind of answer with at least this share among the answers of the agent's tool occurs here as well. */
  minFrequentAnswer: 0.2,
  /**
   * Of tasks with the same openings, a share ends otherwise than the most frequent way. Here it is at least this
   * fraction of that share among the agent's own tasks, so that the openings alone do not tell what to do.
   */
  minOtherEndings: 0.2,
  /** Share of the system message's distinct words that the agent never sees. */
  maxStrangeWordsTold: 0.25,
  /** Share of openings with a word that no opening of the agent's own has. */
  maxStrangeOpenings: 0.25,
  /** An opening is worded like the agent's if at least this share of its pairs of words is in openings of the agent. */
  minFamiliarPairs: 0.8,
  /** Share of openings that may be worded otherwise: what they ask for is not compared with the agent's tasks. */
  maxUnfamiliarOpenings: 0.33,
  /** Share of a kind of change that may be refused although the agent's environment accepts it. */
  maxWaysRefused: 0.25,
  /** Share of a kind of change that may succeed although it never succeeds in the agent's environment. */
  maxFaultsPaid: 0.1,
  /** Share of a tool's answers with a kind that the agent's tool never gives to such a call. */
  maxStrangeAnswers: 0.1,
  /**
   * Share of tasks whose solution may differ from solutions of the agent's tasks with the same opening. The rate at
   * which these solutions differ among themselves is allowed in addition.
   */
  maxSolvedOtherwise: 0.1,
  /**
   * Share of tasks in which an argument of the solution does not follow from what was seen before, as it does in the
   * agent's solutions.
   */
  maxUnexplainedArguments: 0.01,
  /** Share of tasks in which a step follows on what was seen although it never does so in the agent's solutions. */
  maxOtherDecisions: 0.05,
  /** Least share of tasks whose solution uses only tools that the agent's solutions use together. */
  minFamiliarSolutions: 0.5,
} as const;
