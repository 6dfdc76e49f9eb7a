import { z } from 'zod';
import { failedByCauseSchema } from './failed-by-cause';
import { intervalSchema } from './evaluation';
import { experimentSchema } from './experiment';

/** A capability as the analyst names it. */
export const candidateSchema = z.strictObject({
  id: z
    .string()
    .regex(/^[a-z0-9][a-z0-9-]{0,62}$/)
    .describe('kebab-case, derived from the name; unique in a run.'),
  name: z.string().min(1).max(80).describe('Short name.'),
  summary: z.string().min(1).max(120).describe("One line of at most 12 words, for the router's menu."),
  description: z.string().min(1).max(2000).describe('What the capability is and how its lack shows.'),
  notTrainable: z
    .string()
    .optional()
    .describe("The analyst's reason why no training can give it. Absent: it named none."),
});
export type Candidate = z.infer<typeof candidateSchema>;

/** The analyst's answer about one capability in one trajectory: not needed, shown, or not shown. */
export const LABELS = ['NA', 'PRESENT', 'LACKING'] as const;
/** One of `LABELS`. */
export type Label = (typeof LABELS)[number];

/**
 * One line of `labels-run-<n>.jsonl`, the labels of one labelling run: the analyst's answer on one trajectory and
 * capability. `label` is null if it gave no valid answer.
 */
export const labelRecordSchema = z.strictObject({
  trajectoryId: z.string(),
  capabilityId: z.string(),
  label: z.enum(LABELS).nullable(),
  /** Index of the message that shows it best, as the analyst names it. */
  step: z.int().nonnegative().nullable(),
  reason: z.string().max(500),
  /**
   * Key of the label (`labelKey`): a hash of prompt version, analyst model, trajectory, wording of the capability and
   * labelling run. Each key is asked once.
   */
  key: z.string(),
});
export type LabelRecord = z.infer<typeof labelRecordSchema>;

/**
 * One line of `labels.jsonl`, the consensus labels of an identification: one label for a trajectory and a capability,
 * from all labelling runs.
 */
export const consensusLabelSchema = z.strictObject({
  trajectoryId: z.string(),
  capabilityId: z.string(),
  /**
   * The label that most runs gave. At a tie, PRESENT comes before NA, and NA before LACKING. Null when no run has a
   * label.
   */
  label: z.enum(LABELS).nullable(),
  /** Step and reason of the first run that gave this label. */
  step: z.int().nonnegative().nullable(),
  reason: z.string().max(500),
  /** Runs that gave each label. */
  votes: z.strictObject({ NA: z.int(), PRESENT: z.int(), LACKING: z.int() }),
});
export type ConsensusLabel = z.infer<typeof consensusLabelSchema>;

/**
 * Criteria that a capability can miss: a threshold (`gap`, `coverage`), the significance of its gap, an effect of its
 * own (`effect`), or episodes that separate it from another capability (`separation`).
 */
export const VERDICT_CRITERIA = ['gap', 'coverage', 'significance', 'effect', 'separation'] as const;
/** Verdicts on a candidate; docs/explanations/identification.md says what each needs. */
export const IDENTIFY_VERDICTS = ['kept', 'rejected', 'not-enough-data', 'not-trainable'] as const;
/** How a capability has changed since the last run of the agent. */
export const CAPABILITY_STATUSES = ['new', 'recurring', 'fixed', 'regressed'] as const;

const count = z.int();

/** The result of one labelling run for one candidate (paper, section 2). */
export const runContrastSchema = z.strictObject({
  run: count.describe('Labelling run, from 0.'),
  errorRateSuccess: z.number().nullable().describe('ER+ in this run.'),
  errorRateFailure: z.number().nullable().describe('ER- in this run.'),
  gap: z.number().nullable().describe('Their difference.'),
  coverage: z.number().describe('Share of all failures in which it is LACKING.'),
  pValue: z
    .number()
    .describe('One-sided p-value of "no gap", from a score test that takes whole tasks as independent.'),
  passed: z.boolean().describe('Both thresholds are reached in this run.'),
  counts: z
    .strictObject({
      successLacking: count.describe('Successes labelled LACKING.'),
      successApplicable: count.describe('Successes not labelled NA.'),
      failureLacking: count.describe('Failures labelled LACKING.'),
      failureApplicable: count.describe('Failures not labelled NA.'),
      failures: count.describe('All failures.'),
      unlabelled: count.describe('Trajectories without a valid label.'),
    })
    .describe('Trajectories behind the rates.'),
});
export type RunContrast = z.infer<typeof runContrastSchema>;

/** Contrast of one candidate over all labelled trajectories and runs (docs/explanations/identification.md). */
export const contrastSchema = z.strictObject({
  capabilityId: z.string().describe('The candidate.'),
  errorRateSuccess: z
    .number()
    .nullable()
    .describe(
      'ER+: share LACKING among successes where the capability is not NA, mean over runs; null when there is none.',
    ),
  errorRateFailure: z
    .number()
    .nullable()
    .describe(
      'ER-: share LACKING among failures where the capability is not NA, mean over runs; null when there is none.',
    ),
  gap: z.number().nullable().describe('errorRateFailure - errorRateSuccess; null when either is.'),
  coverage: z.number().describe('Share of all failures in which it is LACKING, mean over runs.'),
  standardDeviation: z
    .strictObject({
      errorRateSuccess: z.number().nullable().describe('Of the ER+; null with fewer than two runs.'),
      errorRateFailure: z.number().nullable().describe('Of the ER-; null with fewer than two runs.'),
      gap: z.number().nullable().describe('Of the gap; null with fewer than two runs.'),
      coverage: z.number().nullable().describe('Of the coverage; null with fewer than two runs.'),
    })
    .describe('Between runs: how far the labeller agrees with itself.'),
  intervals: z
    .strictObject({
      errorRateSuccess: intervalSchema.nullable().describe('Of ER+.'),
      errorRateFailure: intervalSchema.nullable().describe('Of ER-.'),
      gap: intervalSchema.nullable().describe('Of the gap.'),
      coverage: intervalSchema.nullable().describe('Of the coverage.'),
    })
    .describe('95 % intervals of the means under sampling of whole tasks; null where there is no estimate.'),
  runs: z.array(runContrastSchema).describe('Each labelling run that was made for it.'),
  runsPassed: count.describe('Runs in which both thresholds are reached.'),
  adjustedPValue: z
    .number()
    .describe(
      'p-value of "no gap", merged over runs and adjusted over candidates (Bonferroni); an upper bound where ' +
        'runs were saved.',
    ),
  partial: z
    .strictObject({
      effect: intervalSchema
        .nullable()
        .describe(
          'P(failure | LACKING) - P(failure | PRESENT), standardised over the other capabilities; null when it ' +
            'cannot be estimated.',
        ),
      adjustedPValue: z.number().describe('p-value of "no effect", adjusted over candidates (Benjamini-Hochberg).'),
      goesWith: z
        .string()
        .nullable()
        .describe('Candidate in whose company it is lacking, where it has no effect of its own or none can be told.'),
      moreEpisodes: count.nullable().describe('About so many more episodes would separate the two.'),
      hardlyShown: z
        .strictObject({
          calledFor: count.describe('Episodes that call for it.'),
          exceptions: count.describe('Those that show it or succeed: at most 5 %, which wrong labels may be.'),
        })
        .nullable()
        .describe('The agent lacks it in nearly all episodes that call for it, and fails; else null.'),
      decidesNothing: z
        .strictObject({
          tool: z
            .string()
            .describe('Tools whose calls tell the episodes that show it from those that lack it, between commas.'),
          tasks: count.describe('Failed tasks whose solution was accepted without their calls: all that were tried.'),
        })
        .optional()
        .describe("The agent's environment accepts its own solutions without it. Absent: not so, or not known."),
      missingValue: z
        .strictObject({
          argument: z.string().describe('`tool.argument`.'),
          episodes: count.describe('Episodes that give it a value that no message before the call contains.'),
          succeeded: count.describe('Of these, successes.'),
          solutions: count
            .nullable()
            .describe(
              "Solutions of the agent's environment that were played, in which no message contains the value either; " +
                'null: not known.',
            ),
        })
        .optional()
        .describe('A value that the agent cannot know where it lacks the capability. Absent: none.'),
      claim: z
        .strictObject({
          reason: z.string().describe('Why no training can give it, in the words of the analyst.'),
          shown: count.describe('Episodes that show it and succeed, which speaks against it.'),
          calledFor: count.describe('Episodes that call for it.'),
        })
        .optional()
        .describe('What the analyst said against training it. Absent: nothing.'),
      experiment: experimentSchema
        .optional()
        .describe('What an experiment with its step found. Absent: none was made.'),
      noExperiment: z
        .string()
        .optional()
        .describe('Why there is none although the labels leave its effect open. Absent: they do not, or there is one.'),
    })
    .describe('What its lack does while all other labels stay the same.'),
  agreement: z
    .number()
    .nullable()
    .describe("Fleiss' kappa of the runs; null with fewer than two, or where only one label was ever given."),
  verdict: z
    .enum(IDENTIFY_VERDICTS)
    .describe('Kept, rejected, not enough data for either, or hardly ever shown, so that nothing can be trained.'),
  missed: z
    .array(z.enum(VERDICT_CRITERIA))
    .describe(
      'Criteria that it misses. For a rejection: the thresholds that are above the whole interval, or `effect`. Also ' +
        'of a capability that is kept for its effect alone.',
    ),
  moreFailures: count
    .nullable()
    .describe('Not enough data: about so many more failed trajectories are needed; null when that cannot be said.'),
  kept: z.boolean().describe('The verdict is "kept".'),
  reason: z.string().describe('Why it was kept or which threshold it missed.'),
  status: z
    .enum(CAPABILITY_STATUSES)
    .nullable()
    .describe(
      "Against the agent's last run: new, recurring, fixed, regressed; null when it is not kept and never was, " +
        'or there are not enough data.',
    ),
});
export type Contrast = z.infer<typeof contrastSchema>;

/**
 * Comparison with planted deficits. They are matched by agreement between labels and the environment's diagnostics, not
 * by name.
 */
export const plantedSchema = z.strictObject({
  found: z
    .array(
      z.strictObject({
        planted: z.string().describe('Diagnostics id of the planted deficit.'),
        capabilityId: z.string().describe('Kept capability that it was matched with.'),
        jaccard: z.number().describe('Agreement of labels and diagnostics over trajectories, 0 to 1.'),
      }),
    )
    .describe('Planted deficits that a kept capability matches.'),
  missed: z.array(z.string()).describe('Planted deficits that no kept capability matches.'),
  invented: z.array(z.string()).describe('Kept capabilities that match no planted deficit.'),
  decoysKept: z.array(z.string()).describe('Decoys that a kept capability matches; there should be none.'),
});

/** A candidate that means the same as another one. */
export const mergeSchema = z.strictObject({
  id: z.string().describe('The candidate that was removed.'),
  name: z.string().describe('Its name.'),
  description: z.string().describe('Its description.'),
  into: z.string().describe('Id of the candidate that stayed.'),
  reason: z.string().describe('Why the analyst calls them the same.'),
});
export type Merge = z.infer<typeof mergeSchema>;

/** One trajectory that shows a missing capability, for people and for synthesis. */
export const evidenceSchema = z.strictObject({
  capabilityId: z.string().describe('What it lacks.'),
  trajectoryId: z.string().describe('Id of the trajectory.'),
  task: count.describe('Seed of its task.'),
  trial: count.describe('Trial of the task, from 0.'),
  step: count.describe('Number of the message that shows it best.'),
  quote: z.string().describe('That message.'),
  passage: z
    .array(
      z.strictObject({
        role: z.string().describe('Who speaks.'),
        text: z.string().describe('The message, or its beginning.'),
        isStep: z.literal(true).optional().describe('It is the message that shows it. Absent: it is another.'),
      }),
    )
    .optional()
    .describe('That message among those around it. Absent: the trajectory is of a task, which can be played again.'),
  reason: z.string().describe("The analyst's words."),
  runsLacking: count.describe('Labelling runs that say LACKING.'),
  runs: count.describe('Labelling runs that say anything.'),
});
export type EvidenceQuote = z.infer<typeof evidenceSchema>;

/** Ways to choose capabilities: the method itself, and the ablations. */
export const IDENTIFY_ARMS = ['contrast', 'failures-only', 'random', 'single-run'] as const;
/** One of `IDENTIFY_ARMS`. */
export type IdentifyArm = (typeof IDENTIFY_ARMS)[number];

/** The capabilities that one of these ways chose. */
export const ablationSchema = z.strictObject({
  arm: z
    .enum(IDENTIFY_ARMS)
    .describe(
      '`contrast`: the method. `failures-only`: coverage alone. `random`: as many, drawn from the candidates. ' +
        '`single-run`: the first labelling run alone.',
    ),
  kept: z.array(z.string()).describe('Capabilities that this arm chooses.'),
  planted: plantedSchema.optional().describe('Against what was planted.'),
});
export type Ablation = z.infer<typeof ablationSchema>;

/** `identification.json`: all results of the stage identify. */
export const identificationSchema = z.strictObject({
  candidates: z.array(candidateSchema).describe('Capabilities that the analyst named.'),
  merges: z.array(mergeSchema).describe('Names that were found to mean another candidate.'),
  contrasts: z.array(contrastSchema).describe('One for each candidate.'),
  kept: z.array(z.string()).describe('Ids of the chosen ones, most important first.'),
  arm: z.enum(IDENTIFY_ARMS).describe('How they were chosen: `contrast` but for an ablation.'),
  ablations: z
    .array(ablationSchema)
    .optional()
    .describe('What each way of choosing gives on the same labels, where that was asked for.'),
  gone: z
    .array(z.string())
    .describe(
      'Ids of capabilities that the last run kept and this run did not look at, because nothing named them and ' +
        'there was no room.',
    ),
  evidence: z
    .array(evidenceSchema)
    .describe('Trajectories that show best that a candidate is lacking: the labelling runs agree most.'),
  thresholds: z
    .strictObject({
      minGap: z.number().describe('Least gap (ER- minus ER+) of a labelling run that passes.'),
      minCoverage: z.number().describe('Least coverage of a labelling run that passes.'),
    })
    .describe('Paper: 0.20 and 0.10.'),
  rule: z
    .strictObject({
      runs: count.describe('Labelling runs planned.'),
      quorum: count.describe('Runs that have to pass both thresholds.'),
      familywiseError: z.number().describe('Highest chance that the contrast keeps any capability without a gap.'),
    })
    .describe('How runs become a verdict.'),
  power: z
    .strictObject({
      tasks: count.describe('Different tasks that were played.'),
      otherRisk: z
        .number()
        .nullable()
        .describe('Share of failures among episodes that lack no candidate; null: there are none.'),
      rarestNeed: z
        .number()
        .nullable()
        .describe(
          'Share of the tasks of the rarest need that is found in four of five cases, if every lack of it fails and ' +
            'half of the tasks that need it lack it; null: only the contrast of many failures can tell.',
        ),
    })
    .optional()
    .describe('How rare a need can be and still be found. Absent: written by an older version.'),
  calls: z
    .strictObject({
      discovery: count.describe('Discovery calls, and the call that merges names.'),
      label: count.describe('Label calls made by this run.'),
      reused: count.describe('Labels that were in the cache already.'),
      unlabelled: count.describe('Labels that could not be obtained.'),
      saved: count.describe('Labels that were not needed, because the verdict could not change any more.'),
    })
    .describe('Calls to the analyst.'),
  usage: z
    .strictObject({
      promptTokens: count.describe('Tokens sent.'),
      completionTokens: count.describe('Tokens received.'),
      cachedTokens: count.describe('Of those sent: served from the cache of the endpoint.'),
    })
    .describe('Tokens of the analyst.'),
  experiments: z
    .strictObject({
      rollouts: count.describe('Rollouts of the base model that were played for experiments.'),
      budget: count.describe('Most that could be played.'),
      seconds: z.number().describe('Wall-clock time of these rollouts.'),
      failed: failedByCauseSchema
        .optional()
        .describe(
          'Of these rollouts, those without a result, by what failed in them. They are in no pair. Absent: none.',
        ),
    })
    .optional()
    .describe('Absent: the labels left nothing open that an experiment could decide.'),
  analyst: z.string().describe('Who labelled, by display name.'),
  planted: plantedSchema.optional().describe('Only where deficits were planted to test Whetstone.'),
});
export type Identification = z.infer<typeof identificationSchema>;
