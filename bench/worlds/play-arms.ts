/** Plays every arm of a finished run on its held-out tasks, often enough to tell which arm is best where. */
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { systemClock } from '../../activities/clock';
import { HttpModelClient, runDeployedRollouts, samplingSeed } from '../../activities/rollout';
import type { RolloutDeps } from '../../activities/rollout/rollout-deps';
import { projectRoot } from '../../contracts/project-root';
import { NONE_LABEL } from '../../contracts/names';
import { openEnvironment } from '../../sandbox';
import { layout } from '../../store';
import { runActivity } from '../identification-demo/identify-without-server';
import { freePort, Processes, untilHealthy } from '../shared/processes';
import { adaptersOf, type FinishedRun } from './finished-run';
import type { OutcomeTable } from './outcome-figures';

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
        ...['-m', 'whetstone.serve', '--model', prepared.modelPath, '--port', String(port)],
        ...['--served-name', prepared.spec.model.name, '--adapters', store.localPath('.')],
      ],
      { PYTHONPATH: join(projectRoot(), 'trainer-image'), HF_HUB_OFFLINE: '1' },
    );
    await untilHealthy(`http://127.0.0.1:${port}/healthz`, 120);
    const modelUrl = `http://127.0.0.1:${port}/v1`;
    return await action({ store, openEnvironment, model: client, clock: systemClock, endpoints: { modelUrl } });
  } finally {
    await client.close();
    await processes.end();
  }
}

/** Outcomes of every arm on the first `tasks` held-out tasks. What was played before is not played again. */
export async function playArms(
  deps: RolloutDeps,
  { store, prepared, report, context }: FinishedRun,
  { tasks, trials }: { tasks: number; trials: number },
): Promise<OutcomeTable> {
  const { adapters, mixed } = adaptersOf(report);
  const served = [...adapters, ...mixed];
  const arms = [NONE_LABEL, ...served.map(({ capabilityId }) => capabilityId)];
  const names = [prepared.spec.model.name, ...served.map(({ name }) => name)];
  const { start, count } = prepared.spec.environment.heldOutSeeds;
  const seeds = Array.from({ length: Math.min(tasks, count) }, (_, place) => start + place);
  const plans = seeds.flatMap((seed) =>
    names.flatMap((model, arm) =>
      Array.from({ length: trials }, (_, trial) => ({
        seed,
        split: 'held-out' as const,
        // A set of rollouts tells its episodes apart by task and trial.
        trial: arm * trials + trial,
        model,
        // The run's own evaluation has the first of these.
        samplingSeed: samplingSeed(context.seed, seed, trial),
      })),
    ),
  );
  const inputs = createHash('sha256').update(JSON.stringify(plans)).digest('hex').slice(0, 12);
  const { trajectories } = await runActivity(
    () =>
      runDeployedRollouts(deps, prepared, {
        plans,
        adapters: served.map(({ name, key }) => ({ name, path: store.localPath(key) })),
        concurrency: prepared.spec.evaluation.concurrency,
        workKey: layout.work(context.runId, `bench-worlds-${inputs}`),
        stage: 'evaluate',
        note: 'all arms',
      }),
    undefined,
  );
  const passes = arms.map(() => seeds.map(() => Array.from({ length: trials }, () => 0)));
  const groups = seeds.map(() => '');
  for await (const { task, trial, success, tags } of trajectories()) {
    const row = task.seed - start;
    passes[Math.floor(trial / trials)]![row]![trial % trials] = success ? 1 : 0;
    groups[row] = [...tags].sort().join(' ');
  }
  return { seeds, groups, arms, trials, passes };
}
