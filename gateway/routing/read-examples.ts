import type { RegistryVersion } from '../../contracts/artifacts/registry';
import { type Trajectory, trajectorySchema } from '../../contracts/artifacts/trajectory';
import { type ArtifactStore, layout, readWholeFile } from '../../store';

/** A task that a capability's adapter solved and the base model did not. */
export interface Example {
  capabilityId: string;
  task: string;
}

/** Largest file of trajectories that is read: one that fits into a text. */
const LARGEST_BYTES = 2 ** 29 - 1024;

/** Enough to tell capabilities apart, and few enough to be compared with in one or two milliseconds. */
const MOST_PER_CAPABILITY = 500;

/**
 * A version's examples, from the evaluation that it was promoted on: for each adapter, the tasks of the trials that it
 * solved and the base model failed. Empty when the run's trajectories are no longer in the store.
 */
export async function readExamples(store: ArtifactStore, { runId, adapters }: RegistryVersion): Promise<Example[]> {
  const folder = layout.evaluation(runId);
  const files = await store.list(folder);
  const arm = async (name: string): Promise<Trajectory[]> => {
    const stem = `arm-${name.replace(/[^A-Za-z0-9.-]+/g, '-')}-`;
    const file = files.find((candidate) => candidate.startsWith(stem));
    if (file === undefined) return [];
    const text = (await readWholeFile(store.localPath(`${folder}/${file}`), LARGEST_BYTES)).toString('utf8');
    return text
      .split('\n')
      .filter(Boolean)
      .map((line) => trajectorySchema.parse(JSON.parse(line)));
  };
  const trialOf = ({ task, trial }: Trajectory) => `${task.seed}/${trial}`;
  const passed = new Set((await arm('base')).filter(({ success }) => success).map(trialOf));
  const examples: Example[] = [];
  for (const { name, capabilityId } of adapters) {
    const solved = (await arm(name)).filter((trajectory) => trajectory.success && !passed.has(trialOf(trajectory)));
    const tasks = new Set(
      solved.flatMap(({ messages }) => messages.find(({ role }) => role === 'user')?.content ?? []),
    );
    examples.push(...[...tasks].slice(0, MOST_PER_CAPABILITY).map((task) => ({ capabilityId, task })));
  }
  return examples;
}
