import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Context } from '@temporalio/activity';
import { CancelledFailure } from '@temporalio/common';
import { type JobActivities, type TrainedAdapter, type TrainInput, type TrainingManifest, trainingProgressSchema } from '../../contracts';
import type { ArtifactStore } from '../../store';
import type { Clock } from '../clock';
import { readPreparedSpec } from '../prepared';
import { type Progress, startProgress } from '../progress';
import { adoptAdapter, readManifest } from './adopt-adapter';
import { trainerFailure } from './trainer-failure';
import { lastLogLines, LOCKED, signalTrainer, startTrainer, type TrainerCommand, trainerState } from './trainer-process';
import { type PlannedJob, planTraining, writeJobFiles } from './training-job';

/** What training needs. */
export interface TrainDeps {
  store: ArtifactStore;
  clock: Clock;
  trainer: TrainerCommand;
  /** Absolute path of `sandbox/profile.json`. */
  jailProfile: string;
  /** Between SIGTERM and SIGKILL of a cancelled job, in milliseconds; default 15 s. */
  graceMs?: number;
}

const POLL_MS = 250;
/** Time a started wrapper has to record itself. */
const START_MS = 10_000;
const LOCK_RETRY_MS = 2_000;

/** Activities of the queue `whet-jobs`. */
export function createTrainActivities(deps: TrainDeps): JobActivities {
  return {
    /**
     * Trains one adapter, by whatever is left to do: a manifest is the result; a living trainer, started by an attempt whose worker
     * died, is watched; otherwise one is started and resumes from its last checkpoint. A cancelled job is stopped; a worker that
     * shuts down leaves its trainer running for the next one to find.
     */
    async trainAdapter(input: TrainInput): Promise<TrainedAdapter> {
      const prepared = await readPreparedSpec(deps.store, input.context.spec);
      const planned = await planTraining(deps.store, prepared, input, deps.jailProfile);
      const manifest = (await readManifest(planned.directory)) ?? (await train(deps, input.job, planned));
      return adoptAdapter(deps.store, input.context.agent, input.job, planned, manifest);
    },
  };
}

async function train(deps: TrainDeps, name: string, planned: PlannedJob): Promise<TrainingManifest> {
  const context = Context.current();
  const signal = context.cancellationSignal;
  const progress = startProgress({
    stage: 'sharpen',
    unit: 'iterations',
    total: planned.job.algorithm.iterations,
    done: (await lastIteration(planned.directory))?.iteration ?? 0,
    note: `train ${name}`,
    everyMs: 500,
    heartbeat: (details) => context.heartbeat(details),
  });
  try {
    await writeJobFiles(planned);
    return await watch(deps, name, planned, progress, signal);
  } catch (error) {
    // A worker that shuts down, or an attempt that Temporal has given up, says nothing about the job itself.
    if (error instanceof CancelledFailure && error.message === 'CANCELLED') await stopTrainer(deps, planned.directory);
    throw error;
  } finally {
    progress.stop();
  }
}

async function watch(
  { clock, trainer }: TrainDeps,
  name: string,
  { directory }: PlannedJob,
  progress: Progress,
  signal: AbortSignal,
): Promise<TrainingManifest> {
  const logPath = join(directory, 'trainer.log');
  // What an earlier trainer ended with was that attempt's business; this one starts its own or finds one running.
  let isOurs = (await trainerState(directory)).status === 'running';
  for (;;) {
    if (!isOurs) {
      const wrapper = await start(directory, trainer, clock, signal);
      isOurs = wrapper !== LOCKED;
      if (!isOurs) await clock.sleep(LOCK_RETRY_MS, signal);
    }
    const state = await trainerState(directory);
    const manifest = await readManifest(directory);
    await report(directory, name, progress);
    if (manifest) return manifest;
    if (isOurs && state.status !== 'running') {
      const code = state.status === 'ended' ? state.code : null;
      if (code !== LOCKED) throw trainerFailure(name, code, await lastLogLines(directory), logPath);
      isOurs = false;
      await clock.sleep(LOCK_RETRY_MS, signal);
    }
    await clock.sleep(POLL_MS, signal);
  }
}

/** Starts a trainer and waits until its wrapper has recorded itself. Resolves with LOCKED when another one holds the directory. */
async function start(directory: string, trainer: TrainerCommand, clock: Clock, signal: AbortSignal): Promise<number | null> {
  let ended: number | null = null;
  let failed: Error | null = null;
  startTrainer(directory, trainer).then(
    (code) => (ended = code),
    (error: Error) => (failed = error),
  );
  for (const deadline = clock.now() + START_MS; clock.now() < deadline; await clock.sleep(20, signal)) {
    if (failed) throw failed as Error;
    if (ended !== null || (await trainerState(directory)).status === 'running') return ended;
  }
  return ended;
}

async function stopTrainer({ clock, graceMs = 15_000 }: TrainDeps, directory: string): Promise<void> {
  const state = await trainerState(directory);
  if (state.status !== 'running') return;
  signalTrainer(state.group, 'SIGTERM');
  for (const deadline = clock.now() + graceMs; clock.now() < deadline; await clock.sleep(POLL_MS)) {
    if ((await trainerState(directory)).status !== 'running') return;
  }
  signalTrainer(state.group, 'SIGKILL');
}

async function report(directory: string, name: string, progress: Progress): Promise<void> {
  const last = await lastIteration(directory);
  if (!last) return;
  progress.reach(last.iteration);
  progress.say(`train ${name}, reward ${last.reward.toFixed(2)}`);
}

/** The newest complete line of progress.jsonl. */
async function lastIteration(directory: string): Promise<{ iteration: number; reward: number } | null> {
  const text = await readFile(join(directory, 'progress.jsonl'), 'utf8').catch(() => '');
  for (const line of text.split('\n').reverse()) {
    try {
      const parsed = trainingProgressSchema.safeParse(JSON.parse(line));
      if (parsed.success) return parsed.data;
    } catch {
      // An empty line, or one that is being written.
    }
  }
  return null;
}
