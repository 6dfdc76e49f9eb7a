import type { FailureType } from '../contracts/failures/run';

/** Exit codes of the trainer's own, one for each way in which it ends (docs/reference/protocols.md, section 6). */
export const TRAINER_EXIT_CODES = {
  jobInvalid: 64,
  environmentFailed: 65,
  diverged: 66,
  /** CUDA reported a fault of the device. */
  gpuFault: 67,
  gpuOutOfMemory: 68,
  /** Something outside the jail killed the process of an environment. */
  environmentKilled: 69,
  /** The sampler (vLLM) lacks something, or answers wrongly. */
  samplerRefused: 70,
  /** The environment pays otherwise in training than in its calibration. */
  environmentDiffers: 71,
  diskFull: 74,
  /** The trainer found another one at work in its directory. */
  locked: 75,
  /** For a long time no worker said that it still wants the result. The trainer saved a checkpoint before. */
  unattended: 76,
  /** A trial found that something is missing where the trainer runs: a GPU, the base model, the jail. */
  unfit: 78,
  /** The trainer was stopped by SIGTERM, after it had saved a checkpoint. */
  stopped: 143,
} as const;

/** The trainer found another one at work in its directory. */
export const LOCKED_EXIT_CODE = TRAINER_EXIT_CODES.locked;
/** The trainer was stopped by SIGTERM, after it had saved a checkpoint. */
export const STOPPED_EXIT_CODE = TRAINER_EXIT_CODES.stopped;

/**
 * Exit codes after which Kubernetes starts no other pod of the Job. After most of them another start would fail the
 * same way: an exception of Python (1), wrong arguments (2), the trainer's own refusals, an entry point that cannot be
 * run (126) or is not there (127). After a full disk, and when nobody attends, a worker decides.
 */
export const FATAL_EXIT_CODES = [
  1,
  2,
  TRAINER_EXIT_CODES.jobInvalid,
  TRAINER_EXIT_CODES.environmentFailed,
  TRAINER_EXIT_CODES.diverged,
  TRAINER_EXIT_CODES.gpuOutOfMemory,
  TRAINER_EXIT_CODES.samplerRefused,
  TRAINER_EXIT_CODES.environmentDiffers,
  TRAINER_EXIT_CODES.diskFull,
  TRAINER_EXIT_CODES.unattended,
  TRAINER_EXIT_CODES.unfit,
  126,
  127,
];

/**
 * Exit codes with a failure of their own. The trainer of a pack ends with the code of a training that failed in it.
 */
export const EXIT_CODE_FAILURES: Readonly<Record<number, FailureType>> = {
  [TRAINER_EXIT_CODES.jobInvalid]: 'Trainer.JobInvalid',
  [TRAINER_EXIT_CODES.environmentFailed]: 'Trainer.EnvironmentFailed',
  [TRAINER_EXIT_CODES.diverged]: 'Trainer.Diverged',
  [TRAINER_EXIT_CODES.gpuOutOfMemory]: 'Trainer.GpuOutOfMemory',
  [TRAINER_EXIT_CODES.samplerRefused]: 'Trainer.SamplerRefused',
  [TRAINER_EXIT_CODES.environmentDiffers]: 'Trainer.EnvironmentDiffers',
  [TRAINER_EXIT_CODES.diskFull]: 'Trainer.DiskFull',
  [TRAINER_EXIT_CODES.unfit]: 'Trainer.CannotStart',
};

const CAUSES: Readonly<Record<number, string>> = {
  [TRAINER_EXIT_CODES.jobInvalid]: 'it refused its job file',
  [TRAINER_EXIT_CODES.environmentFailed]: 'an environment failed',
  [TRAINER_EXIT_CODES.diverged]: 'the optimisation diverged',
  [TRAINER_EXIT_CODES.gpuFault]: 'its GPU failed',
  [TRAINER_EXIT_CODES.gpuOutOfMemory]: 'the memory of its GPU was too small',
  [TRAINER_EXIT_CODES.environmentKilled]: 'something outside the jail killed the process of an environment',
  [TRAINER_EXIT_CODES.samplerRefused]: 'its sampler cannot serve it',
  [TRAINER_EXIT_CODES.environmentDiffers]: 'its environment pays otherwise than in calibration',
  [TRAINER_EXIT_CODES.diskFull]: 'the disk of its directory is full',
  [TRAINER_EXIT_CODES.unattended]: 'no worker attended to it for a long time',
  [TRAINER_EXIT_CODES.unfit]: 'something that a training needs is missing where it ran',
  [TRAINER_EXIT_CODES.stopped]: 'it was told to stop and saved a checkpoint',
};

/** How a trainer ended: `was ended by signal 9`, or `ended with code 67 (its GPU failed)`. */
export function howItEnded(code: number | null): string {
  if (code === null) return 'was killed';
  const cause = CAUSES[code];
  if (cause !== undefined) return `ended with code ${code} (${cause})`;
  return code > 128 ? `was ended by signal ${code - 128}` : `ended with code ${code}`;
}
