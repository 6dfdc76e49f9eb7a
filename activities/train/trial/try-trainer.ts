import { join } from 'node:path';
import { Context, log } from '@temporalio/activity';
import type { PreparedSpec } from '../../../contracts/artifacts/prepared-spec';
import { type TrialManifest, trialManifestSchema } from '../../../contracts/artifacts/training';
import type { RunContext } from '../../../contracts/messages/run-context';
import { TRIAL } from '../../../contracts/names';
import { projectVersion } from '../../../contracts/project-version';
import { Progress } from '../../progress';
import type { Training, TrainingBackend } from '../backend';
import { noteOf } from '../describe-training';
import { readJsonFile } from '../files';
import { runTrainer } from '../train-to-completion';
import { groupOfOne } from '../trainer-group';
import type { PlannedJob } from '../training-job';

/** What `tryTrainer` is given. */
interface TrialRequest {
  context: RunContext;
  prepared: PreparedSpec;
  planned: PlannedJob;
}

/**
 * Lets the backend run a trainer that tests its own needs and trains nothing. Returns the trainer's findings. If an
 * earlier attempt left them, no trainer is started. Heartbeats meanwhile.
 * @throws Trainer.*, or CancelledFailure.
 */
export async function tryTrainer(
  backend: TrainingBackend,
  { context, prepared, planned }: TrialRequest,
): Promise<TrialManifest> {
  const { cancellationSignal: signal } = Context.current();
  const { key, directory } = planned;
  const input = { context, job: TRIAL };
  const note = noteOf({ kind: 'trial', input });
  using progress = new Progress({ stage: 'collect', unit: 'trials', total: 1, note, everyMs: 500 });
  const training: Training<TrialManifest> = {
    kind: 'trial',
    readManifest,
    input,
    prepared,
    planned,
    group: groupOfOne({ capability: TRIAL, directoryKey: key, directory }),
    progress,
    signal,
  };
  const found = (await readManifest(directory)) ?? (await runTrainer(backend, training));
  if (found.trainerVersion !== projectVersion())
    log.warn(`The trainer has version ${found.trainerVersion}, this worker ${projectVersion()}.`);
  return found;
}

const readManifest = (directory: string): Promise<TrialManifest | null> =>
  readJsonFile(join(directory, 'manifest.json'), trialManifestSchema);
