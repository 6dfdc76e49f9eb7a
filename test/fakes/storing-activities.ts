/**
 * Activities of a run that write real artifacts into a store. What each writes follows from its input, and it reads
 * every artifact that its input names, as the real ones do.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { artifactsIn, stateOf } from '../../cli/repair/check-artifacts';
import { layout, type LocalStore } from '../../store';
import { modelDirectorySha256 } from '../../store/model-hash';
import { storeAdapter } from '../../activities/train/store-adapter';
import type { TrainingManifest } from '../../contracts/artifacts/training';
import { toTypedFailure } from '../../workers/failure-interceptor';
import type { QueueActivities } from '../helpers/temporal';
import { type FakeOptions, fakeActivities } from './activities';

type Activity = (input: never, repetition?: unknown) => Promise<unknown>;

/** Directories in which each activity writes, by its name. */
const DIRECTORY: Record<string, (runId: string) => string> = {
  prepareRun: layout.run,
  collectTrajectories: layout.trajectories,
  planLabels: layout.labels,
  tallyRun: layout.labels,
  discoverCandidates: layout.capabilities,
  contrastCapabilities: layout.capabilities,
  playExperiments: layout.capabilities,
  readServedTraffic: layout.night,
  planEvaluation: layout.evaluation,
  chooseRouter: layout.evaluation,
  routeTasks: layout.evaluation,
  rollOutArm: layout.evaluation,
  compareArms: layout.evaluation,
  renderReport: layout.report,
};

/** What a test may change. */
export interface StoringOptions extends FakeOptions {
  store: LocalStore;
  /** Part of everything that an activity writes, by its name: with another salt it makes something else. */
  salt?: Record<string, string>;
  /** Called before each activity. */
  before?: (activity: string, input: unknown, repetition: unknown) => void | Promise<void>;
}

/** Activities for `withWorkers`. `calls` lists their names in order. */
export function storingActivities({ store, salt = {}, before, ...options }: StoringOptions): {
  activities: Required<QueueActivities>;
  calls: string[];
} {
  const { activities } = fakeActivities(options);
  const calls: string[] = [];
  for (const queue of Object.values(activities) as Record<string, Activity>[]) {
    for (const [name, fake] of Object.entries(queue)) {
      queue[name] = async (input, repetition) => {
        calls.push(name);
        await before?.(name, input, repetition);
        await readAll(store, input).catch((error: unknown) => {
          throw toTypedFailure(error);
        });
        if (name === 'trainAdapter') return train(store, input);
        const runId = runIdOf(input);
        const result = await fake(input);
        const directory = (DIRECTORY[name] ?? ((id: string) => layout.environments(id, capabilityOf(input))))(runId);
        return writeAll(store, directory, `${name} ${salt[name] ?? ''} ${JSON.stringify(input)}`, result);
      };
    }
  }
  return { activities, calls };
}

const runIdOf = (input: { runId?: string; context?: { runId: string }; plan?: { context?: { runId: string } } }) =>
  (input.runId ?? input.context?.runId ?? input.plan?.context?.runId) as string;

const capabilityOf = (input: { capability?: { id: string } }) => input.capability?.id ?? 'none';

async function readAll(store: LocalStore, input: unknown): Promise<void> {
  for (const wanted of artifactsIn(input))
    if (wanted.kind === 'artifact') await store.get(wanted);
    else if ((await stateOf(store, wanted)) !== 'intact') throw new Error(`${wanted.key} is damaged`);
}

/** Replaces each made-up reference of a result by that of an artifact in the store. */
async function writeAll(store: LocalStore, directory: string, text: string, value: unknown): Promise<unknown> {
  if (typeof value !== 'object' || value === null) return value;
  const key = (value as { key?: unknown; mediaType?: unknown }).key;
  if (typeof key === 'string' && 'mediaType' in value) {
    const lines = Array.from({ length: 20 }, (_, i) => `${JSON.stringify({ i, text })}\n`);
    return store.put(directory, key.split('/').at(-1) as string, lines.join(''));
  }
  const entries = await Promise.all(
    Object.entries(value).map(async ([name, child]) => [
      name,
      // Inputs that come back are left as they are.
      name === 'context' && 'spec' in (child as object)
        ? await withSpec(store, directory, text, child as { spec: unknown })
        : await writeAll(store, directory, `${text} ${name}`, child),
    ]),
  );
  return Array.isArray(value) ? entries.map(([, child]) => child) : Object.fromEntries(entries);
}

async function withSpec(store: LocalStore, directory: string, text: string, context: { spec: unknown }) {
  return { ...context, spec: await writeAll(store, directory, text, context.spec) };
}

/** A training whose folder keeps its adapter and manifest, so that a second call makes nothing anew. */
async function train(store: LocalStore, input: { context: { runId: string; agent: string }; job: string }) {
  const key = layout.training(input.context.runId, input.job);
  const directory = store.localPath(key);
  const adapterDir = join(directory, 'adapter');
  mkdirSync(adapterDir, { recursive: true });
  writeFileSync(join(adapterDir, 'adapter_config.json'), '{}');
  writeFileSync(join(adapterDir, 'adapter_model.safetensors'), input.job);
  const manifest = {
    adapterSha256: await modelDirectorySha256(adapterDir),
    adapterDir,
    rollouts: 64,
    seconds: { total: 1 },
    finalReward: 0.9,
  } as unknown as TrainingManifest;
  return storeAdapter(store, input.context.agent, input.job, { key, directory } as never, manifest);
}
