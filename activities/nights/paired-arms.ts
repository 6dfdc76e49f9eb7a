import { trajectorySchema } from '../../contracts/artifacts/trajectory';
import type { ArmRollouts } from '../../contracts/messages/evaluate-stage';
import { type ArtifactStore, getLines } from '../../store';
import type { PairedTasks } from './gain-interval';

/** Reads only whether the trajectory passed, because trajectories are large. */
const outcomeSchema = trajectorySchema.pick({ task: true, success: true }).strip();

/** Whether an arm passed each task, by the task's seed. */
export type Passed = ReadonlyMap<number, boolean>;

/** Reads which tasks an arm passed. */
export async function passes(store: ArtifactStore, { rollouts }: ArmRollouts): Promise<Passed> {
  const outcomes = await getLines(store, rollouts.trajectories, outcomeSchema);
  return new Map(outcomes.map(({ task, success }) => [task.seed, success]));
}

/** The two arms on the tasks that both have played. `wanted`, if given, restricts the tasks. */
export function pair(
  base: Passed,
  served: Passed,
  wanted: (seed: number) => boolean = () => true,
): { paired: PairedTasks; rates: { served: number; base: number } } {
  const seeds = [...base.keys()].filter((seed) => served.has(seed) && wanted(seed));
  const count = (which: (seed: number) => boolean | undefined) => seeds.filter((seed) => which(seed)).length;
  const share = (arm: Passed) => count((seed) => arm.get(seed)) / Math.max(1, seeds.length);
  return {
    paired: {
      tasks: seeds.length,
      gained: count((seed) => served.get(seed) && !base.get(seed)),
      lost: count((seed) => base.get(seed) && !served.get(seed)),
    },
    rates: { served: share(served), base: share(base) },
  };
}
