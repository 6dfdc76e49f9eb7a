import type { PreparedSpec } from '../../contracts/artifacts/prepared-spec';
import type { TrainInput } from '../../contracts/messages/sharpen-stage';
import type { Progress } from '../progress';
import type { TrainerGroup } from './trainer-group';
import type { PlannedJob } from './training-job';

/** The purpose of a trainer: a training, or the trial before all trainings of a run. */
interface Purpose<Manifest> {
  kind: 'training' | 'trial';
  /** Reads the manifest in a directory, with which the trainer says that it is done; null if there is none yet. */
  readManifest: (directory: string) => Promise<Manifest | null>;
}

/** One training, or the trial, in the form that backends use. */
export interface Training<Manifest = unknown> extends Purpose<Manifest> {
  input: Pick<TrainInput, 'context' | 'job'>;
  prepared: PreparedSpec;
  planned: PlannedJob;
  /** The trainings that share its trainer, including this one. Without packing it is the only one. */
  group: TrainerGroup;
  /** Sends the heartbeats: iterations done, and the reason for waiting. */
  progress: Progress;
  /** Fires when the activity has to end, for any reason. */
  signal: AbortSignal;
}

/**
 * Where trainings run. Every backend has the same files in the training's directory. The job file and the environments
 * are there before the start, progress.jsonl grows during the training, and manifest.json is the result. So another
 * worker can take over an attempt. The members of a group share a trainer. Each member's attempt watches its own
 * directory, and the first that finds no trainer starts one for all remaining members.
 */
export interface TrainingBackend {
  /** Path of the jail's profile inside the trainer. */
  readonly jailProfile: string;
  /**
   * Waits for the training's manifest. Attaches to the group's trainer if one runs; otherwise starts one.
   * @throws Trainer.* if the training failed. When the signal fires, it throws the signal's reason, and the trainer
   *   continues.
   */
  train<Manifest>(training: Training<Manifest>): Promise<Manifest>;
  /**
   * Stops the group's trainer; it saves a checkpoint if its grace period is long enough. Resolves when its resources
   * are free.
   */
  stop(training: Training): Promise<void>;
  /** Whether a trainer of the group was started with this training and has not ended. */
  isTraining(training: Training): Promise<boolean>;
}
