import type { PreparedSpec } from '../../contracts/artifacts/prepared-spec';
import type { TrainingManifest } from '../../contracts/artifacts/training';
import type { TrainInput } from '../../contracts/messages/sharpen-stage';
import type { Progress } from '../progress';
import type { TrainerGroup } from './trainer-group';
import type { PlannedJob } from './training-job';

/** One training as a backend sees it. */
export interface Training {
  input: TrainInput;
  prepared: PreparedSpec;
  planned: PlannedJob;
  /** Those whom its trainer is for, itself among them; mostly nobody else. */
  group: TrainerGroup;
  /** Heartbeats; the backend reaches iterations, and says what it waits for. */
  progress: Progress;
  /** Aborted when the activity has to end, for whatever reason. */
  signal: AbortSignal;
}

/**
 * Where trainings run. Whatever the backend, the job file and the environments lie in the directory before,
 * progress.jsonl grows meanwhile, and manifest.json is the result; so an attempt may be taken over by another worker.
 * Trainings of one group share a trainer: each of them watches its own directory, and whoever finds no trainer starts it
 * for all who need it.
 */
export interface TrainingBackend {
  /** Path of the jail's profile as the trainer sees it. */
  readonly jailProfile: string;
  /**
   * Brings the training to its manifest: attaches to what runs for its group, else starts it.
   * @throws Trainer.* when it cannot, and the signal's reason when it is aborted; what runs goes on then.
   */
  train(training: Training): Promise<TrainingManifest>;
  /**
   * Ends what runs for the training's group, after a checkpoint where there is time for one; resolves when its resources
   * are free.
   */
  stop(training: Training): Promise<void>;
  /** Whether a trainer of the group was started with this training and has not ended. */
  isTraining(training: Training): Promise<boolean>;
}
