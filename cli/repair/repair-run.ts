import type { Client } from '@temporalio/client';
import type { ArtifactRef } from '../../contracts/artifacts/artifact-ref';
import { preparedSpecSchema } from '../../contracts/artifacts/prepared-spec';
import type { RepairOutcome } from '../../contracts/messages/repair';
import { type ArtifactStore, getJson } from '../../store';
import type { Output } from '../output';
import { artifactsIn, type State, stateOf } from './check-artifacts';
import { restoreFromCopy } from './copies';
import { executeSteps } from './execute-steps';
import { planRepair, type PlannedStep, workflowSteps } from './repair-plan';
import { REPEATABLE } from './repeatable';
import { isOwn, type RunArtifact, runArtifacts } from './run-artifacts';
import { readRunHistory, type RunHistory } from './run-histories';

/** What was looked at. */
export interface Examination {
  history: RunHistory;
  artifacts: number;
  adapters: number;
  bytes: number;
  damaged: { artifact: RunArtifact; state: State }[];
  /** The run's frozen spec; null if its preparation never ended. */
  spec: ArtifactRef | null;
  /** Whether the same seed gives the same episode in the agent's own environment; true if the spec cannot be read. */
  playsAlike: boolean;
}

/**
 * Reads a run's histories and checks everything that they refer to against its hash. On a terminal it shows a count.
 */
export async function examineRun(
  client: Client,
  store: ArtifactStore,
  runId: string,
  out: Output,
): Promise<Examination> {
  const history = await readRunHistory(client, runId, (n) => out.redraw([`read ${n} histories`]));
  const all = runArtifacts(runId, history);
  const bytesOf = ({ wanted }: RunArtifact) => (wanted.kind === 'artifact' ? wanted.bytes : 0);
  const total = all.reduce((sum, artifact) => sum + bytesOf(artifact), 0);
  const damaged: Examination['damaged'] = [];
  let bytes = 0;
  for (const [index, artifact] of all.entries()) {
    out.redraw([`checked ${index} of ${all.length} artifacts, ${inMegabytes(bytes)} of ${inMegabytes(total)}`]);
    const state = await stateOf(store, artifact.wanted);
    if (state !== 'intact') damaged.push({ artifact, state });
    bytes += bytesOf(artifact);
  }
  out.redraw([]);
  const adapters = all.filter(({ wanted }) => wanted.kind === 'adapter').length;
  const spec = specOf(history);
  const prepared = spec && (await getJson(store, spec, preparedSpecSchema).catch(() => null));
  const playsAlike = prepared?.facts.deterministic ?? true;
  return { history, artifacts: all.length - adapters, adapters, bytes: total, damaged, spec, playsAlike };
}

/** `1.2 MB`. */
export const inMegabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(1)} MB`;

function specOf({ activities }: RunHistory): ArtifactRef | null {
  for (const { activity, result } of activities) {
    const context = (result as { context?: { spec?: ArtifactRef } } | undefined)?.context;
    if ((activity === 'prepareRun' || activity === 'prepareStudy') && context?.spec) return context.spec;
  }
  return null;
}

/** The result for one damaged artifact. `how` says where its bytes came from; `reason` says why it is not repaired. */
export type RepairedArtifact =
  { key: string; repaired: true; how: string } | { key: string; repaired: false; reason: string };

/** Options of a repair. */
export interface RepairOptions {
  client: Client;
  store: ArtifactStore;
  out: Output;
  runId: string;
  agent: string | null;
  /** Whether the analyst may be asked again if its recorded answers are missing. */
  mayAskAnalyst: boolean;
}

/**
 * Repairs the damage that an examination found. It restores a copy if there is one; otherwise it executes the activity
 * again that made the artifact. Afterwards every artifact is compared with its hash. An artifact with other bytes is
 * removed again, unless it is useful.
 */
export async function repairRun(options: RepairOptions, examination: Examination): Promise<RepairedArtifact[]> {
  const { store, client, out, runId, agent, mayAskAnalyst } = options;
  const results = new Map<RunArtifact, RepairedArtifact>();
  const remaining: RunArtifact[] = [];
  for (const { artifact } of examination.damaged) {
    const { wanted } = artifact;
    const copy = wanted.kind === 'artifact' ? await restoreFromCopy(store, wanted) : null;
    if (copy === null) remaining.push(artifact);
    else results.set(artifact, { key: wanted.key, repaired: true, how: `from its copy ${copy}` });
  }
  const plan = await planRepair(store, examination, remaining);
  for (const { artifact, reason } of plan.hopeless)
    results.set(artifact, { key: artifact.wanted.key, repaired: false, reason });
  const outcomes = await executeSteps(client, out, runId, agent, workflowSteps(plan, mayAskAnalyst));
  const known = new Set(runArtifacts(runId, examination.history).map(({ wanted }) => wanted.key));
  for (const [index, step] of plan.steps.entries()) {
    const outcome = outcomes[index] as RepairOutcome;
    for (const artifact of step.artifacts) results.set(artifact, await verify(store, artifact, step, outcome));
    if ('result' in outcome && REPEATABLE[step.activity.activity]?.keepsOther !== true)
      await removeOthers(store, runId, outcome.result, known);
  }
  return examination.damaged.map(({ artifact }) => results.get(artifact) as RepairedArtifact);
}

async function verify(
  store: ArtifactStore,
  { wanted }: RunArtifact,
  { activity }: PlannedStep,
  outcome: RepairOutcome,
): Promise<RepairedArtifact> {
  const { key } = wanted;
  if ((await stateOf(store, wanted)) === 'intact')
    return { key, repaired: true, how: `${activity.activity} was executed again` };
  if ('failure' in outcome) {
    const { type, message } = outcome.failure;
    return {
      key,
      repaired: false,
      reason: `${activity.activity} failed: ${type ? `${type}: ` : ''}${message}`,
    };
  }
  const stem = (text: string) => text.replace(/-[0-9a-f]{12}(?=(\.[^./]+)?$)/, '');
  const other = artifactsIn(outcome.result).find((made) => stem(made.key) === stem(key))?.key;
  const differs = REPEATABLE[activity.activity]?.differs ?? 'what it is made from has changed';
  return {
    key,
    repaired: false,
    reason: `${activity.activity} made something else${other === undefined ? '' : ` (${other})`}. Possibly ${differs}.`,
  };
}

/**
 * Removes artifacts with other bytes than the original from the run's own folder. Nothing refers to them, and a reader
 * that looks for `spec-*.json` would find two. An adapter stays, because another run may have made the same adapter.
 */
async function removeOthers(
  store: ArtifactStore,
  runId: string,
  result: unknown,
  known: ReadonlySet<string>,
): Promise<void> {
  for (const { kind, key } of artifactsIn(result))
    if (kind === 'artifact' && !known.has(key) && isOwn(runId, key)) await store.remove(key, Number.MAX_SAFE_INTEGER);
}
