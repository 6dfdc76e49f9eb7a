import { join } from 'node:path';
import type { ApplicationFailure } from '@temporalio/common';
import { EXIT_CODE_FAILURES, TRAINER_EXIT_CODES } from '../../k8s/exit-codes';
import { jobFilePath } from '../../k8s/group-member';
import { jobName } from '../../k8s/names';
import { systemClock } from '../clock';
import type { Training, TrainingBackend } from './backend';
import { type TrainerGroup, memberNames, isShared, remainingMembers } from './trainer-group';
import { memberOutcome } from './packs/member-outcome';
import { checkpointedIterations } from './checkpoints';
import { noteOf } from './describe-training';
import { recordPackFailure } from './packs/failure-files';
import { readRestarts, recordRestart, resetRestarts } from './restart-record';
import { stuckFailure, type TrainerEnd, trainerFailure } from './trainer-failure';
import {
  lastLogLines,
  signalTrainer,
  startTrainer,
  type TrainerCommand,
  isTrainerOf,
  trainerState,
} from './trainer-process';
import { readWaiting } from './progress-file';
import { trackProgress } from './progress-tracker';
import { ResourceAdmission, roomOfTrainer } from './resource-admission';

/** The dependencies of training on this machine. */
interface LocalBackendOptions {
  trainer: TrainerCommand;
  /** Absolute path of `sandbox/profile.json`. */
  jailProfile: string;
  /** Time between SIGTERM and SIGKILL of a cancelled job, in milliseconds; default 15 s. */
  graceMs?: number;
  /** Memory and cores for all trainers; default: all of this machine. */
  room?: ResourceAdmission;
}

/** After this many starts of a trainer without a new checkpoint, a person must look at it. */
const MAX_STARTS_WITHOUT_PROGRESS = 10;
const POLL_MS = 250;
/** Delay before the next check for free resources. */
const ROOM_RETRY_MS = 1_000;
/** Delay before the next start if another trainer holds the directory's lock. */
const LOCK_RETRY_MS = 2_000;

/** Runs trainers as processes of this machine. Each is in its own session, so it outlives the worker. */
export class LocalBackend implements TrainingBackend {
  readonly jailProfile: string;
  private readonly room: ResourceAdmission;

  constructor(private readonly options: LocalBackendOptions) {
    this.jailProfile = options.jailProfile;
    this.room = options.room ?? new ResourceAdmission();
  }

  async train<Manifest>(training: Training<Manifest>): Promise<Manifest> {
    const job = jobName(training.input.job, training.planned.key);
    try {
      return await this.watch(training, job);
    } finally {
      this.room.leave(training.group.directory, job);
    }
  }

  private async watch<Manifest>(training: Training<Manifest>, job: string): Promise<Manifest> {
    const { group, progress, signal } = training;
    const tracker = trackProgress(training);
    const shared = isShared(group) ? `, with a trainer shared by ${memberNames(group)}` : '';
    // The end of an earlier trainer belongs to an earlier attempt. This one attaches to a running trainer or starts
    // one.
    let isOurs = (await trainerState(group.directory)).status === 'running';
    let isStarted = false;
    const needs = roomOfTrainer(training);
    for (;;) {
      const shortage = this.room.enter(group.directory, job, needs, { runs: isOurs });
      if (shortage !== null) {
        progress.setNote(`${noteOf(training)}: waits until another trainer has ended: ${shortage}`);
        await systemClock.sleep(ROOM_RETRY_MS, signal);
        continue;
      }
      if (!isOurs) {
        // Perhaps no worker was alive to see the last end.
        const failure = await stuck(training);
        if (failure !== null) throw failure;
        isStarted = true;
        const wrapper = await this.start(group, signal);
        // Another member's attempt may have started the pack's trainer a moment ago.
        isOurs =
          wrapper !== TRAINER_EXIT_CODES.locked ||
          (isShared(group) && (await trainerState(group.directory)).status === 'running');
        if (!isOurs) await systemClock.sleep(isShared(group) ? POLL_MS : LOCK_RETRY_MS, signal);
      }
      const state = await trainerState(group.directory);
      const manifest = await memberOutcome(training);
      const last = await tracker.read();
      if (last) {
        progress.setDone(last.iteration);
        const probe = last.probe === null ? '' : `, ${last.probe}`;
        progress.setNote(`${noteOf(training)}, reward ${last.reward.toFixed(2)}${probe}${shared}`);
      }
      const waiting = await readWaiting(training.planned.directory);
      if (waiting !== null) progress.setNote(`train ${training.input.job}: ${waiting}`);
      if (manifest) return manifest;
      if (isOurs && state.status !== 'running') {
        const isLocked = state.status === 'ended' && state.code === TRAINER_EXIT_CODES.locked;
        // The trainer was already ending when this attempt began. Its result was damaged and is set aside.
        const wasDone = !isStarted && state.status === 'ended' && state.code === 0;
        if (!isLocked && !wasDone) throw (await stuck(training)) ?? (await ended(training));
        isOurs = false;
        if (isLocked) await systemClock.sleep(LOCK_RETRY_MS, signal);
      }
      await systemClock.sleep(POLL_MS, signal);
    }
  }

  async stop({ group: { directory } }: Training): Promise<void> {
    const { graceMs = 15_000 } = this.options;
    const state = await trainerState(directory);
    if (state.status !== 'running') return;
    signalTrainer(state.processGroup, 'SIGTERM');
    for (const deadline = systemClock.now() + graceMs; systemClock.now() < deadline; await systemClock.sleep(POLL_MS)) {
      if ((await trainerState(directory)).status !== 'running') return;
    }
    signalTrainer(state.processGroup, 'SIGKILL');
  }

  async isTraining({ group, planned }: Training): Promise<boolean> {
    return isTrainerOf(group.directory, jobFilePath(planned.directory));
  }

  /**
   * Starts a trainer for the remaining members. Then waits until its wrapper has recorded its process, however long
   * that takes on a busy machine.
   * @returns the wrapper's exit code if it has ended by then (`locked`: another trainer is running), else null.
   */
  private async start(group: TrainerGroup, signal: AbortSignal): Promise<number | null> {
    const members = await remainingMembers(group);
    if (members.length === 0) return null;
    const jobs = members.map(({ directory }) => jobFilePath(directory));
    let ended: number | null = null;
    let failed: Error | null = null;
    startTrainer(group.directory, jobs, this.options.trainer).then(
      (code) => (ended = code),
      (error: Error) => (failed = error),
    );
    const iterations = await checkpointedIterations(group);
    while (ended === null && (await trainerState(group.directory)).status !== 'running') {
      if (failed) throw failed as Error;
      await systemClock.sleep(20, signal);
    }
    if (ended !== TRAINER_EXIT_CODES.locked) await recordRestart(group.directory, iterations, 'starts', null);
    return ended;
  }
}

/** How the last trainer of a training's group ended. */
async function lastEnd({ group }: Training): Promise<TrainerEnd> {
  const state = await trainerState(group.directory);
  const iterations = await checkpointedIterations(group);
  return {
    code: state.status === 'ended' ? state.code : null,
    log: lastLogLines(group.directory),
    logPath: join(group.directory, 'trainer.log'),
    iterations,
    starts: (await readRestarts(group.directory, iterations, null)).starts,
  };
}

/** The failure of a trainer that ended. If it waits for a person, its starts are counted from 0 again. */
async function ended(training: Training): Promise<ApplicationFailure> {
  const failure = trainerFailure(training, await lastEnd(training));
  if (failure.nonRetryable === true) await resetRestarts(training.group.directory);
  return failure;
}

/** The failure of a trainer that makes no progress from start to start; null while another start is allowed. */
async function stuck(training: Training): Promise<ApplicationFailure | null> {
  const { group } = training;
  const end = await lastEnd(training);
  if (end.starts < MAX_STARTS_WITHOUT_PROGRESS || (end.code !== null && end.code in EXIT_CODE_FAILURES)) return null;
  const failure = stuckFailure(training, end);
  // The members of a pack fail with it one after the other, and each then starts in another pack.
  if (isShared(group)) await recordPackFailure(group, { type: 'Trainer.Failed', message: failure.message });
  else await resetRestarts(group.directory);
  return failure;
}
