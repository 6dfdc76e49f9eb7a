/** Processor time of episodes. */
import { execFileSync } from 'node:child_process';
import { runDeployedRollouts, samplingSeed } from '../../activities/rollout';
import { statFields } from '../../contracts/running-process';
import { layout } from '../../store';
import { heldOutPlayed } from '../shared/held-out-played';
import { runActivity } from '../shared/identify-without-server';
import type { FinishedRun } from '../worlds/finished-run';
import { withPolicyServer } from '../worlds/play-arms';

/** Plays some held-out tasks of a run with base. Returns the seconds that an episode takes of the playing process. */
export async function playerSeconds(run: FinishedRun, tasks: number): Promise<number> {
  const { store, prepared, context } = run;
  const { model, evaluation } = prepared.spec;
  const seeds = heldOutPlayed(store, context.runId, prepared.spec).seeds.slice(0, tasks);
  const plans = seeds.map((seed) => ({
    ...{ seed, split: 'held-out' as const, trial: 0, model: model.name },
    samplingSeed: samplingSeed(context.seed, seed, 0),
  }));
  return withPolicyServer(run, async (deps) => {
    const before = process.cpuUsage();
    await runActivity(
      () =>
        runDeployedRollouts(deps, prepared, {
          ...{ runId: context.runId, plans, concurrency: evaluation.concurrency, stage: 'evaluate' },
          // Under the key of an earlier measurement nothing would be played.
          workKey: layout.work(context.runId, `bench-program-${Date.now()}`),
        }),
      undefined,
    );
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1e6 / seeds.length;
  });
}

/** Clock ticks in a second. */
const TICKS = Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }));

/** Seconds of all processes that this one has started and that have ended. A jail's processes do not count. */
export function secondsOfEndedChildren(): number {
  // The first of these is the third field of the file; `cutime` and `cstime` are 16 and 17.
  const fields = statFields(process.pid)!;
  return (Number(fields[13]) + Number(fields[14])) / TICKS;
}
