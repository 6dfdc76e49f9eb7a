/** Trains an adapter with the watch, and, where the watch ends that training early, once more to the end. */
import { existsSync } from 'node:fs';
import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type PlannedJob, planTraining, writeJobFiles } from '../../activities/train/training-job';
import {
  type TrainingJob,
  type TrainingManifest,
  trainingManifestSchema,
  type TrainingWatch,
} from '../../contracts/artifacts/training';
import { projectRoot } from '../../contracts/project-root';
import type { LabelledDesk } from '../shared/labelled-desk';
import type { Chosen } from './choose';
import { benchOutput } from './python';

const JAIL_PROFILE = join(projectRoot(), 'sandbox', 'profile.json');

/** A training, as watched and to the end. */
export interface Trained {
  watch: TrainingWatch;
  /** Directories of the adapters of a training to the end, by probed iteration. */
  checkpoints: ReadonlyMap<number, string>;
}

/**
 * Trains with the demo agent's own options in an environment, as a run would. The training to the end is the same one
 * without the rules that stop it: same seeds, same rollouts.
 * @throws Error where the trainer fails or watches nothing, or where the two trainings differ before the first ended.
 */
export async function trainTwice(desk: LabelledDesk, { fixture, round }: Chosen): Promise<Trained> {
  const { store, prepared, context, collected, identified } = desk;
  const capability = desk.briefOf(fixture.capability);
  const job = `${fixture.set}-${fixture.name.replace('/', '-')}-${round}`;
  const planned = await planTraining(
    store,
    prepared,
    {
      context,
      job,
      environments: [{ id: capability.id, source: await store.put(`bench/${job}`, 'environment.py', fixture.source) }],
      budgetFactor: 1,
      evidence: { trajectories: collected.trajectories, labels: identified.labels },
    },
    JAIL_PROFILE,
    null,
  );
  const watched = await train(planned);
  const { watch } = watched;
  if (watch === undefined) throw new Error(`Nothing was watched: ${watched.unwatched ?? 'there was no probe'}.`);
  if (watch.ended === null || watched.iterations === iterationsOf(planned))
    return { watch, checkpoints: checkpointsOf(planned, watch) };
  const toTheEnd = withoutStops(planned);
  const whole = await train(toTheEnd);
  const differs = watched.curve.findIndex(({ reward }, n) => whole.curve[n]?.reward !== reward);
  if (differs >= 0)
    throw new Error(`The training to the end differs from the watched one at iteration ${differs + 1}.`);
  return { watch, checkpoints: checkpointsOf(toTheEnd, whole.watch!) };
}

const jobOf = ({ job }: PlannedJob): TrainingJob => job;
const iterationsOf = (planned: PlannedJob): number => jobOf(planned).algorithm.iterations;

/** The same training in another directory, where no probe and no fall of the reward ends it. */
function withoutStops(planned: PlannedJob): PlannedJob {
  const directory = `${planned.directory}-to-the-end`;
  const job = jobOf(planned);
  const algorithm = { ...job.algorithm, probeMargin: 1, probePatience: 1000, rewardCollapse: 0 };
  return { ...planned, directory, sources: new Map(), job: { ...job, outputDir: directory, algorithm } };
}

async function train(planned: PlannedJob): Promise<TrainingManifest> {
  const { directory } = planned;
  await mkdir(directory, { recursive: true });
  await writeJobFiles(planned);
  await benchOutput('train_keeping_all.py', ['--job', join(directory, 'job.json')]);
  return trainingManifestSchema.parse(JSON.parse(await readFile(join(directory, 'manifest.json'), 'utf8')));
}

function checkpointsOf({ directory }: PlannedJob, { probes }: TrainingWatch): Map<number, string> {
  return new Map(
    probes.map(({ iteration }) => {
      const path = join(directory, 'checkpoints', `iteration-${String(iteration).padStart(4, '0')}`);
      if (!existsSync(path)) throw new Error(`${path} is missing: the trainer keeps its checkpoints elsewhere.`);
      return [iteration, path];
    }),
  );
}
