import { z } from 'zod';
import { ENDED_AFTER_IDENTIFY, MIXED, RUN_OUTCOMES } from '../names';
import { type Arm, intervalSchema } from './evaluation';
import { failedByCauseSchema } from './failed-by-cause';
import { judgingSchema } from './evaluation-plan';
import { failedCount, sumFailed } from '../failed-episodes';
import type { Report } from './report';

const count = z.int().nonnegative();
const capabilitySchema = z.strictObject({ id: z.string(), name: z.string() });

/** A run's findings, changes and use; null if it left no report. */
const runFiguresSchema = z.strictObject({
  /** Kept capabilities that no run had kept before. */
  new: z.array(capabilitySchema),
  /** Capabilities that the last run kept, and this one too. */
  recurring: z.array(capabilitySchema),
  /** Capabilities that were kept before and are rejected now. */
  fixed: z.array(capabilitySchema),
  /** Capabilities that were fixed before and are kept now. */
  regressed: z.array(capabilitySchema),
  /** Capabilities that are lacking in more and more tasks over nights; absent: none. */
  drifting: z.array(capabilitySchema).optional(),
  /** Capabilities whose adapters the run judged. */
  sharpened: z.array(capabilitySchema),
  /** The judged capabilities whose adapters an earlier run trained, with its id. */
  reused: z.array(capabilitySchema.extend({ from: z.string() })),
  /** Capabilities whose adapters the night wanted to leave out, and why; absent: none. */
  retires: z.array(capabilitySchema.extend({ why: z.enum(['harms', 'no-longer-helps']) })).optional(),
  promotedVersion: z.int().nullable(),
  /** Pass rate of what would be promoted minus base, paired; null without an evaluation. */
  gain: intervalSchema.nullable(),
  /** Episodes without a result, by what failed in them: of the night, of collection and of all arms. Absent: none. */
  failed: failedByCauseSchema.optional(),
  /** How strictly the gate judged; absent if it did not judge. */
  judged: judgingSchema.optional(),
  spend: z.strictObject({
    /** Episodes that the run played: both arms of a measuring night, collection and evaluation. */
    rollouts: count,
    /** Rollouts of this run's trainings, not of adapters that an earlier run trained. */
    trainingRollouts: count,
    /** Questions to the analyst. */
    analystCalls: count,
    /** Tokens of the analyst. */
    analystTokens: count,
    /** US dollars for the analyst; null without prices. */
    usd: z.number().nullable(),
    /** Tokens of the agent's own model. */
    modelTokens: count,
  }),
});
type RunFigures = z.infer<typeof runFiguresSchema>;

/**
 * One run in the history of its agent: `history/<agent>/<run>-<hash>.json`. It is small, and stays when `whet gc`
 * removes the run.
 */
export const runRecordSchema = z.strictObject({
  schemaVersion: z.literal(1),
  runId: z.string(),
  agent: z.string(),
  outcome: z.enum(RUN_OUTCOMES),
  /** Sentences. */
  reasons: z.array(z.string()),
  /** ISO 8601, UTC. */
  startedAt: z.string(),
  endedAt: z.string(),
  figures: runFiguresSchema.nullable(),
});
export type RunRecord = z.infer<typeof runRecordSchema>;

/** The record of a run that left a report. Its beginning is the beginning of its stages. */
export function recordOfReport(report: Report): RunRecord {
  const seconds = report.stages.reduce((sum, stage) => sum + stage.seconds, 0);
  const endedAtMs = Date.parse(report.createdAt);
  return {
    schemaVersion: 1,
    runId: report.runId,
    agent: report.agent,
    outcome: report.verdict,
    reasons: report.gate?.reasons ?? whyNotJudged(report),
    startedAt: new Date(endedAtMs - seconds * 1000).toISOString(),
    endedAt: report.createdAt,
    figures: figuresOf(report),
  };
}

/** Why a run has no gate: its night ended early, or it was to end before. Empty: nothing was trained. */
function whyNotJudged({ night, verdict }: Report): string[] {
  if (verdict === 'diagnosed') return [ENDED_AFTER_IDENTIFY];
  return night && night.outcome !== 'goes-on' ? [night.sentence] : [];
}

function figuresOf(report: Report): RunFigures {
  const { identification, sharpened, promotedVersion, evaluation } = report;
  const nameOf = new Map(identification.candidates.map(({ id, name }) => [id, name]));
  const named = (id: string) => ({ id, name: nameOf.get(id) ?? id });
  // After a night that continued, the identification is about base. The night's own states are about the served
  // version.
  const states: { id: string; state: string | null }[] =
    report.night?.capabilities ??
    identification.contrasts.map(({ capabilityId: id, status: state }) => ({ id, state }));
  const withStatus = (status: string) => states.filter(({ state }) => state === status).map(({ id }) => named(id));
  const drifting = withStatus('drifting');
  const judged = sharpened.filter(({ adapter }) => adapter !== null);
  const retires = (report.night?.reasons ?? []).flatMap(({ kind: why, capabilityId }) =>
    capabilityId !== null && (why === 'harms' || why === 'no-longer-helps') ? [{ ...named(capabilityId), why }] : [],
  );
  return {
    new: withStatus('new'),
    recurring: withStatus('recurring'),
    fixed: withStatus('fixed'),
    regressed: withStatus('regressed'),
    ...(drifting.length > 0 && { drifting }),
    sharpened: judged.map(({ capability }) => ({ id: capability.id, name: capability.name })),
    reused: [
      ...judged.map(({ capability: { id, name }, adapter }) => ({ id, name, from: adapter?.reusedFrom })),
      { id: MIXED, name: 'everything mixed', from: report.mixed?.reusedFrom },
    ].flatMap(({ id, name, from }) => (from === undefined ? [] : [{ id, name, from }])),
    ...(retires.length > 0 && { retires }),
    promotedVersion,
    gain: evaluation?.routedMinusBase ?? null,
    ...failedOf(report),
    ...(evaluation?.judged && { judged: judgingSchema.strip().parse(evaluation.judged) }),
    spend: spendOf(report),
  };
}

/** If the night ended the run, the collected episodes are part of its measurement. */
const endedMeasuring = ({ night }: Report): boolean => night !== undefined && night.outcome !== 'goes-on';

const armsOf = ({ evaluation }: Report): Arm[] =>
  evaluation === null
    ? []
    : [
        ...[evaluation.base, evaluation.routed, ...evaluation.adapters],
        ...[evaluation.mixed, evaluation.incumbent?.arm].flatMap((arm) => arm ?? []),
      ];

function failedOf(report: Report): Pick<RunFigures, 'failed'> {
  const { night, collect } = report;
  const failed = sumFailed([
    night?.failed?.base,
    night?.failed?.served,
    ...(endedMeasuring(report) ? [] : [collect.failed]),
    ...armsOf(report).map((arm) => arm.failed),
  ]);
  return failedCount(failed) > 0 ? { failed: { ...failed } } : {};
}

function spendOf(report: Report): RunFigures['spend'] {
  const { night, collect, identification, sharpened, mixed, tokens, analystUse } = report;
  const judged = [...sharpened.flatMap(({ adapter }) => adapter ?? []), ...(mixed ? [mixed] : [])];
  const trained = judged.filter(({ reusedFrom }) => reusedFrom === undefined);
  const collected = endedMeasuring(report) ? 0 : collect.episodes - collect.live;
  const played = armsOf(report).map(({ episodes, failed }) => episodes + failedCount(failed));
  const uses = Object.values(analystUse?.calls ?? {});
  const { calls, usage } = identification;
  const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);
  const ofAnalyst = sum(uses.map((use) => use.promptTokens + use.completionTokens));
  const all = sum(tokens.map((use) => use.promptTokens + use.completionTokens));
  const analystTokens = analystUse === undefined ? usage.promptTokens + usage.completionTokens : ofAnalyst;
  return {
    rollouts: (night?.cost.rollouts ?? 0) + collected + sum(played),
    trainingRollouts: sum(trained.map(({ rollouts }) => rollouts)),
    analystCalls: analystUse === undefined ? calls.discovery + calls.label : sum(uses.map((use) => use.calls)),
    analystTokens,
    usd: analystUse?.usd ?? null,
    modelTokens: Math.max(0, all - analystTokens),
  };
}
