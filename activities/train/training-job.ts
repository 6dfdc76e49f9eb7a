import { createHash } from 'node:crypto';
import { join } from 'node:path';
import type { PreparedSpec } from '../../contracts/artifacts/prepared-spec';
import { type TrainingJob, trainingJobSchema, type TrialJob } from '../../contracts/artifacts/training';
import type { TrainInput } from '../../contracts/messages/sharpen-stage';
import { SYNTHETIC_SEEDS } from '../../contracts/limits';
import { type ArtifactStore, layout, replaceFile } from '../../store';
import { trainedModelPath } from '../base-model';
import { runModel } from '../endpoints/run-model';
import { calibratedReward } from './calibrated-reward';
import { planWatch } from './watch/plan-watch';

/** File of the agent's own environment. No capability has such an id. */
const AGENT_FILE = '_agent.py';

/** A job's directory, and the content of its job file. */
export interface PlannedJob {
  /** Key of the directory in the store. */
  key: string;
  /** Absolute. */
  directory: string;
  job: TrainingJob | TrialJob;
  /** Environment sources by file name. */
  sources: Map<string, Buffer>;
}

/** Takes the options of the algorithm from a larger object, in the order of the job file. */
const algorithmSchema = trainingJobSchema.shape.algorithm.strip();

/**
 * Plans the job of a training. It depends only on the run and the input, so that a retry finds the directory of the
 * previous attempt. Other environments, such as edited ones, get another directory.
 */
export async function planTraining(
  store: ArtifactStore,
  prepared: PreparedSpec,
  input: TrainInput,
  jailProfile: string,
  modelUrl: string | null,
): Promise<PlannedJob> {
  const { runId, seed } = input.context;
  const { training } = prepared.spec;
  const iterations = Math.max(1, Math.round(training.iterations * input.budgetFactor));
  const identity = JSON.stringify([
    input.environments.map(({ id, source }) => [id, source.sha256]),
    iterations,
    ...(input.continues === undefined ? [] : [input.continues]),
  ]);
  const key = layout.training(runId, `${input.job}-${sha256(identity).slice(0, 12)}`);
  const directory = store.localPath(key);
  const sources = new Map<string, Buffer>();
  const environments: TrainingJob['environments'] = [];
  for (const { id, source } of input.environments) {
    const file = `${id}.py`;
    sources.set(file, await store.get(source));
    environments.push({ id, path: join(directory, 'environments', file), sha256: source.sha256 });
  }
  const watch = await planWatch(store, prepared, input, join(directory, 'environments', AGENT_FILE));
  if (watch.source !== undefined) sources.set(AGENT_FILE, watch.source);
  const name = input.job;
  const reward = await calibratedReward(store, prepared, input);
  const job = {
    ...jobFile(prepared, { runId, name, seed, environments, iterations, directory, jailProfile, modelUrl }),
    ...(reward !== undefined && { calibratedReward: reward }),
    ...watch.fields,
  };
  return { key, directory, job, sources };
}

/** The job file of one training of a run, or of its trial. */
export function jobFile(
  prepared: PreparedSpec,
  of: Pick<TrainingJob, 'environments' | 'jailProfile'> & {
    runId: string;
    /** The job's name in the run. */
    name: string;
    /** The run's. */
    seed: number;
    iterations: number;
    directory: string;
    /** The policy server of `whet up`, if the worker knows it. */
    modelUrl: string | null;
  },
): TrainingJob {
  const { sandbox } = prepared;
  const { training, environment } = prepared.spec;
  return trainingJobSchema.parse({
    jobId: `${of.runId}/${of.name}`,
    seed: Number.parseInt(sha256(`${of.seed}:${of.name}`).slice(0, 8), 16) >>> 1,
    baseModel: trainedModelPath(prepared),
    environments: of.environments,
    taskSeedStart: SYNTHETIC_SEEDS.training,
    outputDir: of.directory,
    isolation: sandbox.mode === 'jail' ? 'jail' : 'process',
    jailProfile: of.jailProfile,
    threads: training.threads,
    checkpointEvery: training.checkpointEvery,
    algorithm: algorithmSchema.parse({
      ...training,
      iterations: of.iterations,
      maxTurns: environment.maxTurns,
      warmupIterations: Math.min(training.warmupIterations, of.iterations),
    }),
    ...samplerOf(prepared, of.modelUrl),
  });
}

/** The fields of the job file about the sampler. A vLLM without its own address is the server of the run's model. */
function samplerOf(
  prepared: PreparedSpec,
  modelUrl: string | null,
): Pick<TrainingJob, 'sampler' | 'samplerUrl' | 'maxModelLength'> {
  const { sampler, samplerUrl, maxModelLength } = prepared.spec.training;
  switch (sampler) {
    case 'engine':
      return { sampler };
    case 'vllm':
      return { sampler, samplerUrl: samplerUrl ?? runModel(prepared, { modelUrl }).baseUrl };
    case 'managed':
      return { sampler, maxModelLength };
  }
}

/** Writes the job file and the environments, each time with the same bytes. The job file comes last. */
export async function writeJobFiles({ directory, job, sources }: PlannedJob): Promise<void> {
  for (const [file, content] of sources) await replaceFile(join(directory, 'environments', file), content);
  await replaceFile(join(directory, 'job.json'), `${JSON.stringify(job, null, 2)}\n`);
}

/** Sha256 of a text in hex. */
export function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
