import type { ConsensusLabel } from '../../../contracts/artifacts/identification';
import type { Trajectory } from '../../../contracts/artifacts/trajectory';
import type { LabelledOpening, LabelledSteps, LabelledTasks, RoutingTask } from '../../../routing/labelled-tasks';
import { laterMessages } from '../../../routing/later-turns';
import { openingText } from '../../../routing/opening-text';

/**
 * The tasks and openings of the collected trajectories that have labels. A label other than NA says that the task needs
 * the capability. If any trial of a task needs a capability, the task needs it.
 */
export async function readLabelledTasks(
  trajectories: AsyncIterable<Trajectory>,
  labels: AsyncIterable<ConsensusLabel>,
  capabilityIds: readonly string[],
): Promise<LabelledTasks> {
  const trained = new Set(capabilityIds);
  const labelsOf = new Map<string, Record<string, 'PRESENT' | 'LACKING' | 'NA'>>();
  for await (const { trajectoryId, capabilityId, label } of labels) {
    if (!trained.has(capabilityId) || label === null) continue;
    labelsOf.set(trajectoryId, { ...labelsOf.get(trajectoryId), [capabilityId]: label });
  }
  const tasks = new Map<number, RoutingTask>();
  const live: LabelledOpening[] = [];
  const episodes: LabelledSteps[] = [];
  for await (const trajectory of trajectories) {
    const labels = labelsOf.get(trajectory.id);
    const opening = openingText(trajectory.messages);
    const later = laterMessages(trajectory.messages);
    // Without any label the task's needs are unknown; a missing label is not the label NA.
    if (labels === undefined) continue;
    const own = Object.keys(labels).filter((id) => labels[id] !== 'NA');
    const isTrain = trajectory.task.split === 'train';
    if (later.some(({ role }) => role === 'tool'))
      episodes.push({ seed: isTrain ? trajectory.task.seed : null, later, labels });
    if (isTrain) {
      const { seed } = trajectory.task;
      const task = tasks.get(seed) ?? { seed, opening, later, needs: [], basePasses: [], answer: null };
      tasks.set(seed, {
        ...task,
        later: later.length > task.later.length ? later : task.later,
        needs: [...new Set([...task.needs, ...own])].sort(),
        basePasses: [...task.basePasses, trajectory.success ? 1 : 0],
      });
    } else live.push({ opening, later, needs: own });
  }
  return { tasks: [...tasks.values()].sort((a, b) => a.seed - b.seed), live, episodes };
}
