/** Plays every arm of a finished run on its held-out tasks, often enough to tell which arm is best where. */
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { HttpModelClient, runDeployedRollouts, samplingSeed } from '../../activities/rollout';
import type { RolloutDeps } from '../../activities/rollout/rollout-deps';
import { projectRoot } from '../../contracts/project-root';
import { NONE_LABEL } from '../../contracts/names';
import { openEnvironment } from '../../sandbox';
import { layout } from '../../store';
import { openLaterTurns } from '../../routing/later-turns';
import { openingText } from '../../routing/opening-text';
import { modelForLaterTurns } from '../../activities/evaluate/model-for-later-turns';
import type { EpisodePlan } from '../../activities/rollout/episode';
import type { FinishedRollouts } from '../../activities/rollout/run-rollouts';
import { trainedModelPath } from '../../activities/base-model';
import { mean } from '../../activities/statistics/mean';
import { runActivity } from '../shared/identify-without-server';
import { heldOutPlayed } from '../shared/held-out-played';
import { freePort, Processes, untilHealthy } from '../shared/processes';
import { adaptersOf, type FinishedRun } from './finished-run';
import type { OutcomeTable } from './outcome-figures';
import type { Router } from '../../routing/kinds';

/** Serves the base model of a run while `action` goes on. */
export async function withPolicyServer<T>(
  { store, prepared }: FinishedRun,
  action: (deps: RolloutDeps) => Promise<T>,
): Promise<T> {
  const processes = new Processes();
  const client = new HttpModelClient();
  try {
    const port = await freePort();
    const python = process.env['WHET_PYTHON'] || join(projectRoot(), '.toolchain', 'venv', 'bin', 'python');
    processes.start(
      python,
      [
        ...['-m', 'whetstone.serve', '--model', trainedModelPath(prepared), '--port', String(port)],
        ...['--served-name', prepared.spec.model.name, '--adapters', store.localPath('.')],
      ],
      { PYTHONPATH: join(projectRoot(), 'trainer-image'), HF_HUB_OFFLINE: '1' },
    );
    await untilHealthy(`http://127.0.0.1:${port}/healthz`, 120);
    const modelUrl = `http://127.0.0.1:${port}/v1`;
    return await action({ store, openEnvironment, model: client, endpoints: { modelUrl } });
  } finally {
    await client.close();
    await processes.end();
  }
}

/** How many held-out tasks are played, and how often each. */
export interface Extent {
  tasks: number;
  trials: number;
}

/** Outcomes of every arm, with what each task opens with. */
export interface PlayedArms extends OutcomeTable {
  openings: readonly string[];
}

/**
 * Outcomes of every arm on the first `tasks` of the held-out tasks that the run judged on. What was played
 * before is not played again.
 */
export async function playArms(deps: RolloutDeps, run: FinishedRun, extent: Extent): Promise<PlayedArms> {
  const { arms, names } = armsOf(run);
  const seeds = heldOutSeeds(run, extent);
  const { trials } = extent;
  const { trajectories } = await play(
    deps,
    run,
    'all arms',
    seeds.flatMap((seed) => names.flatMap((model, arm) => trialsOf(run, { seed, model }, trials, arm * trials))),
  );
  const passes = arms.map(() => seeds.map(() => Array.from({ length: trials }, () => 0)));
  const groups = seeds.map(() => '');
  const openings = seeds.map(() => '');
  for await (const { task, trial, success, tags, messages } of trajectories()) {
    const row = seeds.indexOf(task.seed);
    passes[Math.floor(trial / trials)]![row]![trial % trials] = success ? 1 : 0;
    groups[row] = [...tags].sort().join(' ');
    openings[row] = openingText(messages);
  }
  return { seeds, groups, arms, trials, passes, openings };
}

/** A router with its decisions on the held-out tasks. */
interface DecidedRouter {
  /** Null for runs from before a router was an artifact. */
  router: Router | null;
  decisions: ReadonlyMap<number, string>;
}

/**
 * Pass rate of each task as a router would serve it, where later turns move conversations. Null where they do not: then
 * the outcomes of the arms say it.
 * @param step a word for a router that is not the one that the run would serve.
 */
export async function playServed(
  deps: RolloutDeps,
  run: FinishedRun,
  { router, decisions }: DecidedRouter,
  extent: Extent,
  step?: string,
): Promise<number[] | null> {
  const { arms, names, served } = armsOf(run);
  const reader = router && openLaterTurns(router, arms);
  if (!reader) return null;
  const seeds = heldOutSeeds(run, extent);
  const plans = seeds.flatMap((seed) => {
    const model = names[arms.indexOf(decisions.get(seed)!)]!;
    return trialsOf(run, { seed, model, modelAfter: modelForLaterTurns(reader, served, model) }, extent.trials, 0);
  });
  // Two routers may open alike and move otherwise.
  const note = step === undefined ? 'what is served' : `${step} ${hashOf(router)}`;
  const passes = await passesByTask(await play(deps, run, note, plans));
  return seeds.map((seed) => mean(passes.get(seed) ?? []));
}

/** Passes (1) and failures (0) of each task. */
async function passesByTask({ trajectories }: FinishedRollouts): Promise<Map<number, number[]>> {
  const passes = new Map<number, number[]>();
  for await (const { task, success } of trajectories())
    passes.set(task.seed, [...(passes.get(task.seed) ?? []), success ? 1 : 0]);
  return passes;
}

/** Arms with the name that each is served by; base is the first. */
function armsOf({ prepared, report }: FinishedRun) {
  const { adapters, mixed } = adaptersOf(report);
  const served = [...adapters, ...mixed];
  return {
    served,
    arms: [NONE_LABEL, ...served.map(({ capabilityId }) => capabilityId)],
    names: [prepared.spec.model.name, ...served.map(({ name }) => name)],
  };
}

function heldOutSeeds({ store, context, prepared }: FinishedRun, { tasks }: Extent): number[] {
  return heldOutPlayed(store, context.runId, prepared.spec).seeds.slice(0, tasks);
}

/** A set of rollouts tells its episodes apart by task and trial, so each arm numbers its trials from another one on. */
const trialsOf = (
  { context }: FinishedRun,
  plan: Pick<EpisodePlan, 'seed' | 'model' | 'modelAfter'>,
  trials: number,
  first: number,
): EpisodePlan[] =>
  Array.from({ length: trials }, (_, trial) => ({
    ...plan,
    split: 'held-out' as const,
    trial: first + trial,
    // The run's own evaluation has the first of these.
    samplingSeed: samplingSeed(context.seed, plan.seed, trial),
  }));

function play(deps: RolloutDeps, run: FinishedRun, note: string, plans: EpisodePlan[]): Promise<FinishedRollouts> {
  const { store, prepared, context } = run;
  return runActivity(
    () =>
      runDeployedRollouts(deps, prepared, {
        runId: context.runId,
        plans,
        adapters: armsOf(run).served.map(({ name, key }) => ({ name, path: store.localPath(key) })),
        concurrency: prepared.spec.evaluation.concurrency,
        workKey: layout.work(context.runId, `bench-worlds-${hashOf([note, plans])}`),
        stage: 'evaluate',
        note,
      }),
    undefined,
  );
}

const hashOf = (value: unknown): string =>
  createHash('sha256').update(JSON.stringify(value)).digest('hex').slice(0, 12);
