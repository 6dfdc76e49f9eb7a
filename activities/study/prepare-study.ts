import { dirname } from 'node:path';
import { Context } from '@temporalio/activity';
import { z } from 'zod';
import type { ArtifactRef } from '../../contracts/artifacts/artifact-ref';
import { type PreparedSpec, preparedSpecSchema } from '../../contracts/artifacts/prepared-spec';
import { type RolloutSummary, trajectorySchema } from '../../contracts/artifacts/trajectory';
import type { StudyInput, StudyPlan } from '../../contracts/messages/identify-stage';
import { failure } from '../../contracts/typed-failure';
import { type ArtifactStore, layout, putJson, storedLines } from '../../store';
import { fileSha256 } from '../../store/read-files';
import { probeAnalyst } from '../endpoints/probe-analyst';
import { type KnownEndpoints, resolveEndpoints } from '../endpoints/resolve-endpoints';

/** The dependencies of preparing a study. */
export interface PrepareStudyDeps {
  store: ArtifactStore;
  endpoints: KnownEndpoints;
}

/**
 * Prepares a study from a run of the agent. It takes the run's trajectories, and its spec with the analyst that this
 * worker knows now. Each identification of the study has one labelling run, because the study measures how much
 * labelling runs differ.
 * @throws Study.NoTrajectories if there is no such run.
 */
export async function prepareStudy(
  { store, endpoints }: PrepareStudyDeps,
  { studyId, agent, sourceRun }: StudyInput,
): Promise<StudyPlan> {
  const source = await findSource(store, agent, sourceRun);
  const { spec, environmentPath } = source.prepared;
  const analyst = await probeAnalyst(
    resolveEndpoints(spec, endpoints, dirname(environmentPath)),
    endpoints.analyst.apiKey,
    Context.current().cancellationSignal,
  );
  const { quorum: _, ...identify } = spec.identify;
  const prepared: PreparedSpec = {
    ...source.prepared,
    analyst,
    spec: { ...spec, identify: { ...identify, runs: 1, arm: 'contrast', ablations: false } },
  };
  const context = {
    runId: studyId,
    agent,
    spec: await putJson(store, layout.study(studyId), 'spec.json', prepared),
    seed: spec.seed,
  };
  return { context, sourceRun: source.runId, collected: await summary(store, source.key) };
}

interface Source {
  runId: string;
  prepared: PreparedSpec;
  /** Key of its trajectories artifact. */
  key: string;
}

/** A frozen spec by its key; null if it cannot be used. */
async function readSpec(store: ArtifactStore, key: string): Promise<PreparedSpec | null> {
  try {
    return preparedSpecSchema.parse(JSON.parse(String(await store.getNamed(key))));
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof z.ZodError) return null;
    throw error;
  }
}

/**
 * The requested run, else the agent's last run with trajectories. Run ids sort by time, so the last run comes first.
 */
async function findSource(store: ArtifactStore, agent: string, wanted: string | null): Promise<Source> {
  const runs = wanted === null ? (await store.list('runs')).reverse() : [wanted];
  for (const runId of runs) {
    const directory = layout.trajectories(runId);
    const file = (await store.list(directory)).find((name) => /^collected-[0-9a-f]{12}\.jsonl$/.test(name));
    const spec = (await store.list(layout.run(runId))).find((name) => /^spec-[0-9a-f]{12}\.json$/.test(name));
    if (file === undefined || spec === undefined) continue;
    const prepared = await readSpec(store, `${layout.run(runId)}/${spec}`);
    if (prepared?.spec.name === agent) return { runId, prepared, key: `${directory}/${file}` };
  }
  const where =
    wanted === null ? `no run of agent ${agent} has` : `run ${wanted} is not one of agent ${agent}, or has no`;
  throw failure('Study.NoTrajectories', `There is nothing to study: ${where} collected trajectories in the store.`);
}

async function summary(store: ArtifactStore, key: string): Promise<RolloutSummary> {
  let [bytes, episodes, successes] = [0, 0, 0];
  const sha256 = await fileSha256(store.localPath(key), (read) => (bytes = read));
  const trajectories: ArtifactRef = { key, sha256, bytes, mediaType: 'application/jsonl' };
  for await (const { success } of await storedLines(store, trajectorySchema)(trajectories)) {
    episodes++;
    if (success) successes++;
  }
  return {
    trajectories: { ...trajectories, records: episodes },
    episodes,
    successes,
    failures: episodes - successes,
    promptTokens: 0,
    completionTokens: 0,
    seconds: 0,
  };
}
