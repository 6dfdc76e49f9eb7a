import { z } from 'zod';
import type { ArtifactRef } from '../../contracts/artifacts/artifact-ref';
import { consensusLabelSchema } from '../../contracts/artifacts/identification';
import { reportSchema, type TrainedReport } from '../../contracts/artifacts/report';
import { trainingManifestSchema } from '../../contracts/artifacts/training';
import { MIXED } from '../../contracts/names';
import { getJson, layout, type LocalStore, readIfExists, readRegistry } from '../../store';
import { type DamagedFile, readerOf } from '../documents';
import { addCollected, addTraces } from './conversations';
import { keys, LineageGraph } from './graph';

/** The readable part of the store, and the files that could not be read. */
export interface StoreLineage {
  graph: LineageGraph;
  damaged: DamagedFile[];
}

/** What links things. */
const lineageSchema = reportSchema
  .pick({
    runId: true,
    agent: true,
    createdAt: true,
    identification: true,
    sharpened: true,
    mixed: true,
    artifacts: true,
  })
  .extend({ collect: z.object({ live: z.number() }) })
  .strip();
type Report = z.infer<typeof lineageSchema>;

/** What links a training. */
const beginningSchema = trainingManifestSchema.pick({ beginsFrom: true }).strip();
/** Role of the rollouts that a run collected, including live traffic. */
const COLLECTED = 'trajectories of the base agent on train tasks';

/** Reads reports, registries and live traffic of a store. Damaged files are listed and left out. */
export async function readLineage(store: LocalStore): Promise<StoreLineage> {
  const graph = new LineageGraph();
  const damaged: DamagedFile[] = [];
  const read = readerOf(store, damaged);
  const reports: Report[] = [];
  for (const runId of await store.list('runs')) {
    const key = `${layout.report(runId)}/report.json`;
    await read(key, async () => {
      const text = await readIfExists(store.localPath(key));
      if (text !== null) reports.push(lineageSchema.parse(JSON.parse(text)));
    });
  }
  reports.sort((a, b) => (a.createdAt < b.createdAt ? -1 : 1));
  const writers = firstWriters(reports);
  for (const report of reports) {
    addEvidence(graph, report);
    addSharpened(graph, report, writers);
    await read(layout.labels(report.runId), () => addLabels(graph, store, report));
    for (const { manifest, training } of trainingsWithBeginning(report))
      await read(manifest.key, () => addBeginning(graph, store, report.agent, manifest, training));
  }
  for (const name of await store.list('registry')) {
    const agent = name.replace(/\.json$/, '');
    await read(layout.registry(agent), () => addVersions(graph, store, agent));
  }
  for (const agent of await store.list('traces'))
    await read(`traces/${agent}`, async () => {
      for (const day of await store.list(`traces/${agent}`))
        await read(layout.traces(agent, day), async () => {
          for (const name of await store.list(layout.traces(agent, day))) {
            const key = `${layout.traces(agent, day)}/${name}`;
            if (name.endsWith('.jsonl')) await read(key, () => addTraces(graph, store, agent, day, key));
          }
        });
    });
  for (const report of reports) {
    const collected = report.artifacts.find(({ role }) => role === COLLECTED)?.ref;
    if (collected !== undefined && (report.collect?.live ?? 0) > 0)
      await read(collected.key, () => addCollected(graph, store, report, collected));
  }
  return { graph, damaged };
}

/** The run for which each environment was written, by the hash of its source. */
function firstWriters(reports: readonly Report[]): Map<string, string> {
  const writers = new Map<string, string>();
  for (const isReused of [false, true])
    for (const { runId, sharpened } of reports)
      for (const { source, reusedFrom } of sharpened.flatMap(({ attempts }) => attempts))
        if ((reusedFrom !== undefined) === isReused && !writers.has(source.sha256))
          writers.set(source.sha256, reusedFrom ?? runId);
  return writers;
}

function addEvidence(graph: LineageGraph, { runId, agent, identification }: Report): void {
  const names = new Map(identification.candidates.map(({ id, name }) => [id, name]));
  for (const { capabilityId, trajectoryId, task } of identification.evidence) {
    addCapability(graph, { runId, agent }, capabilityId, names.get(capabilityId) ?? '');
    graph.add(keys.trajectory(trajectoryId), { kind: 'trajectory', id: trajectoryId, agent, about: `task ${task}` });
    graph.link(keys.trajectory(trajectoryId), keys.capability(runId, capabilityId));
  }
}

function addCapability(
  graph: LineageGraph,
  { runId, agent }: Pick<Report, 'runId' | 'agent'>,
  id: string,
  about: string,
): void {
  graph.add(keys.capability(runId, id), { kind: 'capability', id, agent, about });
}

/** The trajectories whose labels say that a sharpened capability is lacking; synthesis chooses from them. */
async function addLabels(graph: LineageGraph, store: LocalStore, report: Report): Promise<void> {
  const sharpened = new Set(report.sharpened.map(({ capability }) => capability.id));
  const labels = report.artifacts.find(({ role }) => role === 'labels')?.ref;
  if (labels === undefined || sharpened.size === 0) return;
  for await (const { line } of store.lines(labels)) {
    const { label, capabilityId, trajectoryId } = consensusLabelSchema.parse(JSON.parse(line.toString('utf8')));
    if (label !== 'LACKING' || !sharpened.has(capabilityId)) continue;
    const item = { kind: 'trajectory', id: trajectoryId, agent: report.agent, about: '' } as const;
    graph.add(keys.trajectory(trajectoryId), item);
    graph.link(keys.trajectory(trajectoryId), keys.capability(report.runId, capabilityId));
  }
}

function addSharpened(graph: LineageGraph, report: Report, writers: ReadonlyMap<string, string>): void {
  const { runId, agent } = report;
  const accepted: string[] = [];
  for (const { capability, attempts, adapter } of report.sharpened) {
    for (const { source, attempt, accepted: isAccepted } of attempts) {
      const writer = writers.get(source.sha256) ?? runId;
      const key = keys.environment(source.sha256);
      addCapability(graph, { runId: writer, agent }, capability.id, capability.name);
      const about = `${isAccepted ? 'accepted' : 'rejected'}, attempt ${attempt} of ${writer}`;
      graph.add(key, { kind: 'environment', id: source.sha256.slice(0, 12), agent, about });
      graph.link(keys.capability(writer, capability.id), key);
    }
    const own = attempts.filter((attempt) => attempt.accepted).map(({ source }) => source.sha256);
    accepted.push(...own);
    if (adapter !== null) addAdapter(graph, report, capability.id, own, adapter);
  }
  if (report.mixed) addAdapter(graph, report, MIXED, accepted, report.mixed);
}

function addAdapter(
  graph: LineageGraph,
  { runId, agent }: Report,
  job: string,
  environments: readonly string[],
  { name, sha256, rollouts, seconds, reusedFrom }: TrainedReport,
): void {
  const trainedBy = reusedFrom ?? runId;
  const training = keys.training(trainedBy, job);
  const about = `${rollouts} rollouts in ${seconds.toFixed(0)} s`;
  graph.add(training, { kind: 'training', id: `${trainedBy}/${job}`, agent, about });
  graph.add(keys.adapter(sha256), { kind: 'adapter', id: name, agent, about: sha256 });
  graph.link(training, keys.adapter(sha256));
  for (const environment of environments) graph.link(keys.environment(environment), training);
}

/**
 * Trainings that began from an adapter, each with its manifest, because the run's report does not have that adapter's
 * hash.
 */
function trainingsWithBeginning({ runId, sharpened, mixed, artifacts }: Report) {
  const trained = [
    ...sharpened.map(({ capability, adapter }) => ({ job: capability.id, adapter })),
    { job: MIXED, adapter: mixed },
  ];
  return trained.flatMap(({ job, adapter }) => {
    const manifest = artifacts.find(({ role }) => role === `training manifest of ${job}`)?.ref;
    if (!adapter?.beginsFrom || manifest === undefined) return [];
    return [{ manifest, training: keys.training(adapter.reusedFrom ?? runId, job) }];
  });
}

async function addBeginning(
  graph: LineageGraph,
  store: LocalStore,
  agent: string,
  manifest: ArtifactRef,
  training: string,
): Promise<void> {
  const { beginsFrom } = await getJson(store, manifest, beginningSchema);
  if (beginsFrom === undefined) return;
  const { name, sha256 } = beginsFrom;
  graph.add(keys.adapter(sha256), { kind: 'adapter', id: name, agent, about: sha256 });
  graph.link(keys.adapter(sha256), training);
}

async function addVersions(graph: LineageGraph, store: LocalStore, agent: string): Promise<void> {
  const { versions, active, canary } = await readRegistry(store, agent);
  for (const { version, runId, adapters } of versions) {
    const key = keys.version(agent, version);
    const state = version === active ? ', active' : version === canary?.version ? ', canary' : '';
    graph.add(key, { kind: 'version', id: `${agent}@${version}`, agent, about: `promoted by ${runId}${state}` });
    for (const { name, sha256 } of adapters) {
      graph.add(keys.adapter(sha256), { kind: 'adapter', id: name, agent, about: sha256 });
      graph.link(keys.adapter(sha256), key);
    }
  }
}
