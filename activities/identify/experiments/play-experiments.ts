import { createHash } from 'node:crypto';
import { Context } from '@temporalio/activity';
import { type Experiment, experimentQuestionsSchema, type Experiments } from '../../../contracts/artifacts/experiment';
import type { ArtifactRef } from '../../../contracts/artifacts/artifact-ref';
import type { PreparedSpec } from '../../../contracts/artifacts/prepared-spec';
import type { ExperimentInput } from '../../../contracts/messages/identify-stage';
import { getJson, layout, putJson } from '../../../store';
import { readPreparedSpec } from '../../prepared-spec';
import { Progress } from '../../progress';
import { type EpisodePlan, FEW_EPISODES, runDeployedRollouts, samplingSeed, storeRollouts } from '../../rollout';
import type { RolloutDeps } from '../../rollout/rollout-deps';
import { acceptedSolutions } from '../../target-profile/play-solutions';
import { LEAST_EFFECT } from '../causes/judge-effects';
import { verdictRule } from '../verdicts/verdict-rule';
import { judgePairs, type PairRule } from './judge-pairs';
import { planExperiment, type PlannedExperiment, sidesOf } from './plan-pairs';

/** Pairs that are played before an experiment is judged again. */
const BLOCK = 8;
/** Most pairs of one task. */
const MOST_REPEATS = 3;
/** Numbers of these trials begin here: the run has other rollouts of the same tasks. */
const FIRST_TRIAL = 100_000;

const NOT_STEPPABLE = "the agent's own program makes its turns, so that no call can be put in or held back";

type Solutions = Awaited<ReturnType<typeof acceptedSolutions>>;

/**
 * Activity: plays the experiments of an identification, block by block, until each is decided or the budget is spent.
 * Both rollouts of a pair are new: the collected ones have raised the question, so they cannot answer it. A retry plays
 * only what is missing.
 * @returns the experiments, as `experimentsSchema`.
 */
export async function playExperiments(deps: RolloutDeps, input: ExperimentInput): Promise<ArtifactRef> {
  const { context } = input;
  const { store } = deps;
  const prepared = await readPreparedSpec(store, context.spec);
  const questions = await getJson(store, input.questions, experimentQuestionsSchema);
  const tasks = [...new Set(questions.flatMap(({ lacking, shown }) => [...lacking, ...shown]))];
  const solutions = await readSolutions(deps, { runId: context.runId, prepared }, tasks);
  const results: Experiments['experiments'] = [];
  const planned: PlannedExperiment[] = [];
  for (const question of questions) {
    const plan = prepared.facts.steppable ? planExperiment(question, solutions) : { none: NOT_STEPPABLE };
    if ('none' in plan) results.push({ capabilityId: question.capabilityId, result: plan });
    else planned.push(plan);
  }
  const { experimentRollouts: budget } = prepared.spec.identify;
  const rollouts = new PairedRollouts(planned, solutions, { prepared, seed: context.seed, budget });
  let played: Awaited<ReturnType<typeof runDeployedRollouts>> | null = null;
  for (let open = [...planned]; rollouts.addBlocks(open); open = open.filter((one) => rollouts.isOpen(one))) {
    played = await runDeployedRollouts(deps, prepared, {
      runId: context.runId,
      plans: rollouts.plans,
      concurrency: prepared.spec.collect.concurrency,
      workKey: layout.work(context.runId, `experiments-${hashOf(planned)}`),
      stage: 'identify',
      note: 'experiments with the steps of candidates',
      mayFail: FEW_EPISODES,
    });
    for await (const { task, trial, success, intervened = [] } of played.trajectories())
      rollouts.remember(task.seed, trial, { success, intervened });
  }
  const stored =
    played === null
      ? null
      : await storeRollouts(store, played, {
          directory: layout.trajectories(context.runId),
          name: 'experiments.jsonl',
          stage: 'identify',
        });
  const artifact: Experiments = {
    experiments: [
      ...results,
      ...planned.map((one) => ({ capabilityId: one.capabilityId, result: rollouts.result(one) })),
    ],
    rollouts: stored?.episodes ?? 0,
    ...(stored?.failed && { failed: { ...stored.failed } }),
    promptTokens: stored?.promptTokens ?? 0,
    completionTokens: stored?.completionTokens ?? 0,
    seconds: stored?.seconds ?? 0,
    trajectories: stored?.trajectories ?? null,
  };
  return putJson(store, layout.capabilities(context.runId), 'experiments.json', artifact);
}

async function readSolutions(
  deps: RolloutDeps,
  run: { runId: string; prepared: PreparedSpec },
  tasks: readonly number[],
) {
  using progress = new Progress({ stage: 'identify', unit: 'solutions', total: tasks.length });
  const { cancellationSignal: signal } = Context.current();
  return acceptedSolutions(deps, run, tasks, { signal, onRead: () => progress.advance() });
}

interface Outcome {
  success: boolean;
  intervened: readonly string[];
}

/** The pairs of all experiments. Experiments share the rollouts that they have in common. */
class PairedRollouts {
  readonly plans: EpisodePlan[] = [];
  private readonly arms: string[];
  private readonly pairs = new Map<PlannedExperiment, { seed: number; repeat: number }[]>();
  private readonly outcomes = new Map<string, Outcome>();
  private readonly keys = new Set<string>();
  private readonly rule: PairRule;

  constructor(
    experiments: readonly PlannedExperiment[],
    private readonly solutions: Solutions,
    private readonly run: { prepared: PreparedSpec; seed: number; budget: number },
  ) {
    this.arms = [...new Set(experiments.flatMap((one) => Object.values(sidesOf(one)).map(armKey)))];
    const { minGap, familywiseError } = verdictRule(run.prepared.spec.identify);
    this.rule = {
      ...{ experiments: experiments.length, error: familywiseError },
      ...{ least: LEAST_EFFECT * minGap, margin: minGap },
    };
  }

  /** Plans one more block of each experiment, as far as the budget goes. Returns whether it planned anything. */
  addBlocks(experiments: readonly PlannedExperiment[]): boolean {
    const before = this.plans.length;
    for (const experiment of experiments) {
      const pairs = this.pairs.get(experiment) ?? [];
      this.pairs.set(experiment, pairs);
      const { tasks } = experiment;
      for (let pair = 0; pair < BLOCK && pairs.length < tasks.length * MOST_REPEATS; pair++) {
        const place = { seed: tasks[pairs.length % tasks.length]!, repeat: Math.floor(pairs.length / tasks.length) };
        const added = this.plansOf(experiment, place);
        if (this.plans.length + added.length > this.run.budget) return this.plans.length > before;
        for (const plan of added) this.keys.add(keyOf(plan.seed, plan.trial));
        this.plans.push(...added);
        pairs.push(place);
      }
    }
    return this.plans.length > before;
  }

  remember(seed: number, trial: number, outcome: Outcome): void {
    this.outcomes.set(keyOf(seed, trial), outcome);
  }

  isOpen(experiment: PlannedExperiment): boolean {
    return this.result(experiment).finding === 'undecided';
  }

  result(experiment: PlannedExperiment): Experiment {
    const { step, tools, held } = experiment;
    const sides = sidesOf(experiment);
    const pairs = (this.pairs.get(experiment) ?? []).flatMap(({ seed, repeat }) => {
      const outcomeOf = (side: Arm) => this.outcomes.get(keyOf(seed, this.trialOf(side, repeat)));
      const [withStep, without] = [outcomeOf(sides.withStep), outcomeOf(sides.without)];
      // A rollout that failed has no result, so its pair says nothing.
      return withStep === undefined || without === undefined ? [] : { withStep, without };
    });
    const count = (is: (pair: (typeof pairs)[number]) => boolean) => pairs.filter(is).length;
    const counts = {
      pairs: pairs.length,
      intervened: count((pair) =>
        pair[step === 'forced' ? 'withStep' : 'without'].intervened.some((tool) => tools.includes(tool)),
      ),
      passedWith: count(({ withStep }) => withStep.success),
      passedWithout: count(({ without }) => without.success),
      better: count(({ withStep, without }) => withStep.success && !without.success),
      worse: count(({ withStep, without }) => !withStep.success && without.success),
    };
    const tasks = new Set(this.pairs.get(experiment)?.map(({ seed }) => seed)).size;
    return { step, tools, held, tasks, ...counts, finding: judgePairs(counts, this.rule) };
  }

  /** The rollouts of a pair that are not planned yet. */
  private plansOf(experiment: PlannedExperiment, { seed, repeat }: { seed: number; repeat: number }): EpisodePlan[] {
    return Object.values(sidesOf(experiment)).flatMap((side: Arm): EpisodePlan[] => {
      const trial = this.trialOf(side, repeat);
      if (this.keys.has(keyOf(seed, trial))) return [];
      return [
        {
          ...{ seed, trial, split: 'train', model: this.run.prepared.spec.model.name },
          samplingSeed: samplingSeed(this.run.seed, seed, FIRST_TRIAL + repeat),
          intervention: { ...side, solution: this.solutions.get(seed) ?? [] },
        },
      ];
    });
  }

  private trialOf(side: Arm, repeat: number): number {
    return FIRST_TRIAL + repeat * this.arms.length + this.arms.indexOf(armKey(side));
  }
}

/** Rollouts of another plan are numbered otherwise. */
const hashOf = (planned: readonly PlannedExperiment[]): string =>
  createHash('sha256').update(JSON.stringify(planned)).digest('hex').slice(0, 12);

type Arm = ReturnType<typeof sidesOf>['withStep'];

const armKey = ({ forced, forbidden }: Arm): string => JSON.stringify([[...forced].sort(), [...forbidden].sort()]);
const keyOf = (seed: number, trial: number): string => `${seed}:${trial}`;
