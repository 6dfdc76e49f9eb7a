import { type Registry } from '../../contracts/artifacts/registry';
import type { FailedByCause } from '../../contracts/failed-episodes';
import { type RunRecord, runRecordSchema } from '../../contracts/artifacts/run-record';
import { layout, type LocalStore, readNights, readRegistry } from '../../store';
import { type DamagedFile, readerOf } from '../documents';

/** One run of an agent, with its changes of the agent's version. Capabilities by name. */
export interface Night {
  /** Number of the measuring night, from its decision and its report; null for a run that did not measure. */
  night: number | null;
  runId: string;
  startedAt: string;
  minutes: number;
  outcome: RunRecord['outcome'];
  reasons: string[];
  new: string[];
  recurring: string[];
  fixed: string[];
  regressed: string[];
  drifting: string[];
  /** Capabilities whose adapters were reused, with the run that trained each. */
  reused: { name: string; from: string }[];
  /** Capabilities with an adapter in the replaced version but not in the night's own; null if that is unknown. */
  retired: string[] | null;
  /** Capabilities whose adapters the night wanted to leave out, and why, whether or not that was promoted. */
  retires: { id: string; why: 'harms' | 'no-longer-helps' }[];
  version: number | null;
  gain: { estimate: number; low: number; high: number } | null;
  /** Episodes without a result, by what failed in them; absent: none. They are in no figure. */
  failed?: FailedByCause;
  /** The gate's comparison and confidence; null if it did not judge. */
  judged: { against: number | null; comparison: number; confidence: number } | null;
  spend: NonNullable<RunRecord['figures']>['spend'] | null;
}

/** The readable part of an agent's history, and the files that could not be read. */
export interface AgentHistory {
  agent: string;
  nights: Night[];
  active: number | null;
  damaged: DamagedFile[];
}

/** Reads the runs of an agent that have ended, using only the store. A damaged file is listed and left out. */
export async function readHistory(store: LocalStore, agent: string): Promise<AgentHistory> {
  const damaged: DamagedFile[] = [];
  const read = readerOf(store, damaged);
  const records = new Map<string, RunRecord>();
  const keep = (record: RunRecord) => {
    const before = records.get(record.runId);
    // A repaired run has left two records.
    if (before === undefined || before.endedAt <= record.endedAt) records.set(record.runId, record);
  };
  for (const name of await store.list(layout.history(agent))) {
    const key = `${layout.history(agent)}/${name}`;
    const record = await read(key, async () => runRecordSchema.parse(JSON.parse(String(await store.getNamed(key)))));
    if (record !== null) keep(record);
  }
  const registry = await read(layout.registry(agent), () => readRegistry(store, agent));
  const measured = await read(layout.nights(agent), () => readNights(store, agent));
  const numbers = new Map(measured?.nights.map(({ runId, night }) => [runId, night]));
  const sorted = [...records.values()].sort((a, b) => (a.startedAt < b.startedAt ? -1 : 1));
  const nights = sorted.map((record) => nightOf(record, numbers.get(record.runId) ?? 0, registry));
  return { agent, nights, active: registry?.active ?? null, damaged };
}

/** The capabilities that a night found to work on or to watch, by name. */
export const foundText = (night: Pick<Night, 'new' | 'recurring' | 'regressed' | 'drifting'>): string[] => [
  ...night.new,
  ...night.recurring.map((name) => `${name} (still)`),
  ...night.regressed.map((name) => `${name} (again)`),
  ...night.drifting.map((name) => `${name} (drifting)`),
];

/** The confidence of a night's judgement: `99.24 %, comparison 2 with version 3`. */
export function judgedText({ judged }: Pick<Night, 'judged'>): string {
  if (judged === null) return '';
  const { against, comparison, confidence } = judged;
  const level = Number((confidence * 100).toPrecision(6));
  return `${level} %, comparison ${comparison} with ${against === null ? 'base' : `version ${against}`}`;
}

function nightOf(record: RunRecord, night: number, registry: Registry | null): Night {
  const { runId, startedAt, endedAt, outcome, reasons, figures } = record;
  const names = (capabilities: readonly { name: string }[] = []) => capabilities.map(({ name }) => name);
  return {
    night: night === 0 ? null : night,
    runId,
    startedAt,
    minutes: Math.max(0, Date.parse(endedAt) - Date.parse(startedAt)) / 60_000,
    outcome,
    reasons,
    new: names(figures?.new),
    recurring: names(figures?.recurring),
    fixed: names(figures?.fixed),
    regressed: names(figures?.regressed),
    drifting: names(figures?.drifting),
    reused: (figures?.reused ?? []).map(({ name, from }) => ({ name, from })),
    retired: retiredBy(figures, registry),
    retires: figures?.retires?.map(({ id, why }) => ({ id, why })) ?? [],
    version: figures?.promotedVersion ?? null,
    gain: figures?.gain ?? null,
    ...(figures?.failed && { failed: figures.failed }),
    judged: figures?.judged ?? null,
    spend: figures?.spend ?? null,
  };
}

/**
 * Capabilities of the replaced version, which is not always the previous number, since somebody may have rolled back.
 * Null if a version has left the registry since.
 */
function retiredBy(figures: RunRecord['figures'], registry: Registry | null): string[] | null {
  const version = figures?.promotedVersion ?? null;
  if (version === null || version === 1) return [];
  const made = registry?.versions.find((one) => one.version === version);
  if (made === undefined) return null;
  if (made.replaced === null) return [];
  const before = registry?.versions.find((one) => one.version === made.replaced);
  if (before === undefined) return null;
  const has = new Set(made.adapters.map(({ capabilityId }) => capabilityId));
  return before.adapters.flatMap(({ capabilityId }) => (has.has(capabilityId) ? [] : [capabilityId]));
}

/** The capabilities that a night retired, with the reason if the night had asked for it. */
export const retiredText = ({ retired, retires }: Pick<Night, 'retired' | 'retires'>): string[] =>
  (retired ?? []).map((id) => {
    const why = retires.find((one) => one.id === id)?.why;
    return why === undefined ? id : `${id} (${why === 'harms' ? 'did harm' : 'no longer helped'})`;
  });
