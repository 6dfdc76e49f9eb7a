import { join } from 'node:path';
import { readFileSync } from 'node:fs';
import { type Report, reportSchema } from '../../contracts/artifacts/report';
import { recordOfReport } from '../../contracts/artifacts/run-record';
import { MIXED } from '../../contracts/names';
import { LocalStore, readRegistry } from '../../store';

/** What one night found, made and used. */
export interface NightFigures {
  runId: string;
  verdict: string;
  sentence: string;
  /** Version that it promoted. */
  version: number | null;
  /** Episodes in which it looked for what is lacking: both arms of its measuring, and its collection. */
  measuringRollouts: number;
  /** The same with those of the evaluation. */
  rollouts: number;
  labels: number;
  environmentsWritten: number;
  /** Capabilities for which it wrote environments. */
  writtenFor: string[];
  /** Capabilities that it sharpened, with or without an adapter in the end. */
  sharpened: string[];
  calibrationRollouts: number;
  trainings: number;
  trainingRollouts: number;
  /** Capabilities whose adapters it trained, and those whose adapters it took from earlier runs. */
  trained: string[];
  reused: string[];
  stageSeconds: number;
  /** From the command to its result, with the start of the services and the making of the model in the first night. */
  seconds: number;
  /** Every adapter of its evaluation, trained and reused, whichever of them the promoted version has. */
  evaluated: EvaluatedAdapter[];
  /** Adapters of the version that serves afterwards. */
  adapters: ServedAdapter[];
}

/** What only the end of a night shows; the rest is in its report. */
export type NightEnd = Pick<NightFigures, 'runId' | 'seconds' | 'adapters'>;

interface ServedAdapter {
  capabilityId: string;
  sha256: string;
}

/** An adapter that a night had; `from` is the earlier run that trained it, null: the night itself did. */
interface EvaluatedAdapter extends ServedAdapter {
  from: string | null;
}

/** The adapters that are served now, by capability. */
export async function servedAdapters(storeRoot: string, agent: string): Promise<ServedAdapter[]> {
  const registry = await readRegistry(new LocalStore(storeRoot), agent);
  const active = registry.versions.find(({ version }) => version === registry.active);
  return (active?.adapters ?? []).map(({ capabilityId, sha256 }) => ({ capabilityId, sha256 })).sort(byCapability);
}

/** Reads what a night did from its report. */
export function readNight(storeRoot: string, { runId, seconds, adapters: served }: NightEnd): NightFigures {
  const path = join(storeRoot, 'runs', runId, 'report', 'report.json');
  const report = reportSchema.parse(JSON.parse(readFileSync(path, 'utf8')));
  const { spend } = recordOfReport(report).figures!;
  const { night, collect } = report;
  const attempts = report.sharpened.flatMap((one) => one.attempts);
  const adapters = adaptersOf(report);
  const trained = adapters.filter(({ reusedFrom }) => reusedFrom === undefined);
  return {
    runId,
    verdict: report.verdict,
    sentence: report.night?.sentence ?? report.gate?.reasons[0] ?? '',
    version: report.promotedVersion,
    measuringRollouts: (night?.cost.rollouts ?? 0) + (night && night.outcome !== 'goes-on' ? 0 : collect.episodes),
    rollouts: spend.rollouts,
    labels: report.analystUse?.calls['label']?.calls ?? 0,
    environmentsWritten: attempts.filter(isWritten).length,
    writtenFor: report.sharpened
      .flatMap(({ capability: { id }, attempts: own }) => (own.some(isWritten) ? [id] : []))
      .sort(),
    sharpened: report.sharpened.map(({ capability }) => capability.id).sort(),
    calibrationRollouts: attempts
      .filter(({ calibrationFrom }) => calibrationFrom === undefined)
      .reduce((sum, { calibration }) => sum + (calibration?.rollouts ?? 0), 0),
    trainings: trained.length,
    trainingRollouts: trained.reduce((sum, { rollouts }) => sum + rollouts, 0),
    trained: trained.map(({ id }) => id).sort(),
    reused: adapters.flatMap(({ id, reusedFrom }) => (reusedFrom === undefined ? [] : [id])).sort(),
    stageSeconds: report.stages.reduce((sum, stage) => sum + stage.seconds, 0),
    seconds,
    evaluated: adapters
      .map(({ id, sha256, reusedFrom }) => ({ capabilityId: id, sha256, from: reusedFrom ?? null }))
      .sort(byCapability),
    adapters: served,
  };
}

const byCapability = (a: ServedAdapter, b: ServedAdapter): number => (a.capabilityId < b.capabilityId ? -1 : 1);

const isWritten = ({ reusedFrom }: Report['sharpened'][number]['attempts'][number]): boolean =>
  reusedFrom === undefined;

const adaptersOf = ({ sharpened, mixed }: Report) => [
  ...sharpened.flatMap(({ capability: { id }, adapter }) => (adapter === null ? [] : [{ id, ...adapter }])),
  ...(mixed ? [{ id: MIXED, ...mixed }] : []),
];
