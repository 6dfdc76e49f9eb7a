import type { PreparedSpec } from '../../../contracts/artifacts/prepared-spec';
import type { TrainingJob } from '../../../contracts/artifacts/training';
import type { TrainInput } from '../../../contracts/messages/sharpen-stage';
import type { ArtifactStore } from '../../../store';
import { readOwnerEnvironment } from '../../environment';
import { deployedSettings } from '../../rollout/episode';
import { chooseProbeTasks } from './choose-probe-tasks';
import { readTrainTasks } from './read-train-tasks';

/** The part of a job about its probes, and the agent's environment where there are any. */
interface PlannedWatch {
  fields: Pick<TrainingJob, 'watch' | 'unwatched'>;
  source?: Buffer;
}

/** Fewest tasks of a group that is probed: fewer show nothing. */
const FEWEST_TASKS = 10;

/**
 * Plans the probes of a training: the run's train tasks, those that call for the capability and others apart. Held-out
 * tasks are never used. The base model's outcomes come from the run's own rollouts where the trainer would sample the
 * same tokens. The trainer itself finds out whether it can host the agent's environment.
 * @param path where the trainer finds the agent's environment.
 * @throws Environment.Failed if the agent's environment has changed since the run began; the errors of reading an
 *   artifact.
 */
export async function planWatch(
  store: ArtifactStore,
  prepared: PreparedSpec,
  { evidence, environments, context }: Pick<TrainInput, 'evidence' | 'environments' | 'context'>,
  path: string,
): Promise<PlannedWatch> {
  const { training, model } = prepared.spec;
  const unwatched = (why: string): PlannedWatch => ({ fields: { unwatched: why } });
  if (evidence === undefined || training.probeEvery === 0) return { fields: {} };
  if (!prepared.facts.trainable)
    return unwatched("the agent's own environment is a program of its owner, which no trainer plays");
  const capabilities = environments.map(({ id }) => id);
  const { tasks, recorded } = await readTrainTasks(store, evidence, { base: model.name, capabilities });
  // The policy server of `whet up` and the trainer's engine compute alike.
  const samplesAlike = training.sampler === 'engine' && model.server === 'embedded' && model.baseUrl === undefined;
  const chosen = chooseProbeTasks(tasks, { seed: context.seed, samplesAlike, fewest: FEWEST_TASKS });
  if (chosen.calledFor.length === 0 && chosen.others.length === 0)
    return unwatched(
      `fewer than ${FEWEST_TASKS} train tasks call for the capability, and fewer than ${FEWEST_TASKS} do not, ` +
        'by the labels of the run',
    );
  const source = await readOwnerEnvironment(prepared);
  if (!('source' in source)) throw new Error(`${source.name} says that a trainer can play it, and it has no module.`);
  const { temperature, maxTurns, maxCompletionTokens, successReward } = deployedSettings(prepared.spec);
  const environment = { id: prepared.spec.name, path, sha256: prepared.environmentSha256 };
  const deployed = { temperature, maxTurns, maxCompletionTokens, successReward };
  return { fields: { watch: { environment, ...deployed, ...chosen, recorded } }, source: Buffer.from(source.source) };
}
