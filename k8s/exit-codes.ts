import type { FailureType } from '../contracts/failures/run';

/** One way in which the trainer ends by itself. */
interface TrainerExit {
  code: number;
  /** The cause, as a clause. */
  cause: string;
  /**
   * Whether Kubernetes starts no other pod of the Job, because that pod would end the same way, or because a worker has
   * to decide.
   */
  isFatal?: true;
  /** Its specific failure type, if it has one. */
  failure?: FailureType;
}

/** All exit codes of the trainer itself (docs/reference/protocols.md, section 6). */
const TRAINER_EXITS = {
  jobInvalid: { code: 64, cause: 'it refused its job file', isFatal: true, failure: 'Trainer.JobInvalid' },
  environmentFailed: { code: 65, cause: 'an environment failed', isFatal: true, failure: 'Trainer.EnvironmentFailed' },
  diverged: { code: 66, cause: 'the optimisation diverged', isFatal: true, failure: 'Trainer.Diverged' },
  /** CUDA reported a fault of the device. */
  gpuFault: { code: 67, cause: 'its GPU failed' },
  gpuOutOfMemory: {
    code: 68,
    cause: 'the memory of its GPU was too small',
    isFatal: true,
    failure: 'Trainer.GpuOutOfMemory',
  },
  environmentKilled: { code: 69, cause: 'something outside the jail killed the process of an environment' },
  /** The sampler (vLLM) lacks a feature, or answers wrongly. */
  samplerRefused: { code: 70, cause: 'its sampler cannot serve it', isFatal: true, failure: 'Trainer.SamplerRefused' },
  environmentDiffers: {
    code: 71,
    cause: 'its environment pays otherwise than in calibration',
    isFatal: true,
    failure: 'Trainer.EnvironmentDiffers',
  },
  diskFull: { code: 74, cause: 'the disk of its directory is full', isFatal: true, failure: 'Trainer.DiskFull' },
  locked: { code: 75, cause: 'another trainer is at work in its directory' },
  /** It first saved a checkpoint. */
  unattended: { code: 76, cause: 'no worker attended to it for a long time', isFatal: true },
  /** A trial found that a GPU, the base model or the jail is missing. */
  unfit: {
    code: 78,
    cause: 'something that a training needs is missing where it ran',
    isFatal: true,
    failure: 'Trainer.CannotStart',
  },
  /** By SIGTERM. */
  stopped: { code: 143, cause: 'it was told to stop and saved a checkpoint' },
} as const satisfies Record<string, TrainerExit>;

const EXITS: readonly [string, TrainerExit][] = Object.entries(TRAINER_EXITS);

/** Exit codes of the trainer itself. */
export const TRAINER_EXIT_CODES = Object.fromEntries(EXITS.map(([name, { code }]) => [name, code])) as {
  [Name in keyof typeof TRAINER_EXITS]: (typeof TRAINER_EXITS)[Name]['code'];
};

/**
 * Exit codes after which Kubernetes starts no other pod of the Job. They include Python's exception (1), wrong
 * arguments (2), and an entry point that cannot be run (126) or does not exist (127).
 */
export const FATAL_EXIT_CODES = [
  1,
  2,
  ...EXITS.flatMap(([, { code, isFatal }]) => (isFatal === true ? [code] : [])),
  126,
  127,
];

/**
 * Exit codes with a specific failure type. If a training of a pack fails, the pack's trainer ends with that training's
 * code.
 */
export const EXIT_CODE_FAILURES: Readonly<Record<number, FailureType>> = Object.fromEntries(
  EXITS.flatMap(([, { code, failure }]) => (failure === undefined ? [] : [[code, failure]])),
);

/** How a trainer ended: `was ended by signal 9`, or `ended with code 67 (its GPU failed)`. */
export function howItEnded(code: number | null): string {
  if (code === null) return 'was killed';
  const exit = EXITS.find(([, own]) => own.code === code)?.[1];
  if (exit !== undefined) return `ended with code ${code} (${exit.cause})`;
  return code > 128 ? `was ended by signal ${code - 128}` : `ended with code ${code}`;
}
