import type { ProbeTask, WatchedAgent } from '../../../contracts/artifacts/training';
import { contentKey } from '../../../llm';
import { wordsOf } from '../../environment-checks/words';
import { jaccard } from '../../statistics/jaccard';
import { mean } from '../../statistics/mean';
import type { TrainTask } from './read-train-tasks';

/** Most tasks of each group in a job. */
const MOST_TASKS = 400;
/** Openings that are compared with each other, at most so many of each group. */
const COMPARED = 200;
/** Fewest other tasks that base passed before, from which probes choose these alone. */
const FEWEST_PASSED = 40;

/**
 * Chooses the train tasks of probes, in the order of their use.
 *
 * Only a task that base passes can be lost, so the others are those that base passed in all trials but the last. The
 * last trial, which did not decide about the choice, is what the adapter is compared with. Half of the others are those
 * whose openings share most words with openings that call for the capability: an adapter that learned a rule too widely
 * fails there first.
 * @param samplesAlike whether base would sample the same tokens in the trainer.
 * @param fewest a smaller group is left out.
 */
export function chooseProbeTasks(
  tasks: readonly TrainTask[],
  { seed, samplesAlike, fewest }: { seed: number; samplesAlike: boolean; fewest: number },
): Pick<WatchedAgent, 'calledFor' | 'others'> {
  const order = (group: readonly TrainTask[]): TrainTask[] =>
    group
      .map((task) => ({ task, key: contentKey('probe', String(seed), String(task.seed)) }))
      .sort((a, b) => (a.key < b.key ? -1 : 1))
      .map(({ task }) => task);
  const planned = (group: readonly TrainTask[]): ProbeTask[] =>
    group.length < fewest ? [] : group.slice(0, MOST_TASKS).map((task) => probeTask(task, samplesAlike));
  const calledFor = order(tasks.filter(({ callsFor }) => callsFor === true));
  const others = order(tasks.filter(({ callsFor }) => callsFor === false));
  return { calledFor: planned(calledFor), others: planned(nearAndFar(passedBefore(others), calledFor)) };
}

function probeTask({ seed, rollouts }: TrainTask, samplesAlike: boolean): ProbeTask {
  const { samplingSeed, success } = rollouts.at(-1)!;
  return { seed, samplingSeed, basePassed: samplesAlike ? success : null };
}

/**
 * The tasks that base passed in all trials but the last; if these are few, those that it passed oftenest. With one
 * trial nothing decides. A task that has only one left, as its others failed, shows no pass.
 */
function passedBefore(tasks: readonly TrainTask[]): TrainTask[] {
  const isSingle = tasks.every(({ rollouts }) => rollouts.length < 2);
  const share = ({ rollouts }: TrainTask): number =>
    rollouts.length < 2 ? Number(isSingle) : mean(rollouts.slice(0, -1).map(({ success }) => (success ? 1 : 0)));
  const sorted = [...tasks].sort((a, b) => share(b) - share(a));
  const passed = sorted.filter((task) => share(task) === 1).length;
  return sorted.slice(0, Math.max(passed, FEWEST_PASSED));
}

/** The third whose openings are most like those of `calledFor`, and the rest, in turn. */
function nearAndFar(tasks: readonly TrainTask[], calledFor: readonly TrainTask[]): TrainTask[] {
  const words = ({ opening }: TrainTask) => new Set(wordsOf(opening));
  const openings = calledFor.slice(0, COMPARED).map(words);
  const likeness = new Map(
    tasks.slice(0, COMPARED).map((task) => {
      const own = words(task);
      return [task.seed, Math.max(0, ...openings.map((opening) => jaccard(opening, own)))];
    }),
  );
  const limit = [...likeness.values()].sort((a, b) => b - a)[Math.floor(likeness.size / 3)] ?? 0;
  const isNear = ({ seed }: TrainTask): boolean => (likeness.get(seed) ?? 0) > limit;
  const near = tasks.filter(isNear);
  const far = tasks.filter((task) => !isNear(task));
  return Array.from({ length: Math.max(near.length, far.length) }, (_, n) => [near[n], far[n]])
    .flat()
    .filter((task) => task !== undefined);
}
