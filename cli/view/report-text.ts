import { cleanBlock } from '../../contracts/clean-text';
import type { Arm, Interval } from '../../contracts/artifacts/evaluation';
import { type Report, reportSchema } from '../../contracts/artifacts/report';
import { failedTasksText, failedText } from '../../contracts/failed-episodes';
import { ENDED_AFTER_IDENTIFY } from '../../contracts/names';
import { isMixedAlone } from '../../contracts/artifacts/router-choice';
import { gateConfidenceNote } from '../../contracts/statistics/gate-confidence-note';
import { join } from 'node:path';
import { readWholeFile, StoreCorruptError } from '../../store';
import { readDamageable } from '../documents';
import { CliError } from '../errors';
import { table } from '../output';

const BESIDE = 'report.html beside it shows the same result.';

/** Reads `report.json` in a report's directory. @throws CliError if it is missing or not a report of this version. */
export async function readReport(directory: string): Promise<Report> {
  const path = join(directory, 'report.json');
  const bytes = await readWholeFile(path).catch((error: unknown) => {
    if (error instanceof StoreCorruptError)
      throw new CliError(`${error.message} ${BESIDE}`, { type: error.type, cause: error });
    throw new CliError(
      `The report ${path} cannot be read (${(error as Error).message}). ` +
        'Look at it on the machine where the worker ran.',
      {
        type: 'Report.Missing',
        cause: error,
      },
    );
  });
  const document = await readDamageable(path, BESIDE, () => JSON.parse(bytes.toString('utf8')) as unknown);
  const parsed = reportSchema.safeParse(document);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new CliError(`${path} is not a report of this version: ${issue?.path.join('.')}: ${issue?.message}.`, {
    type: 'Report.Invalid',
  });
}

const share = ({ estimate, low, high }: Interval) => `${estimate.toFixed(3)} [${low.toFixed(3)}, ${high.toFixed(3)}]`;
const signed = (x: number) => `${x < 0 ? '-' : '+'}${Math.abs(x).toFixed(3)}`;
const difference = ({ estimate, low, high }: Interval) => `${signed(estimate)} [${signed(low)}, ${signed(high)}]`;

const reversed = ({ estimate, low, high }: Interval): Interval => ({ estimate: -estimate, low: -high, high: -low });

/**
 * A table with rows for an agent that does nothing, base, best single adapter, mixed (if there is one), routed and
 * oracle. Each row has the pass rate in [0, 1], pass^k where there are several trials, and its paired difference to
 * base, all with intervals; caveats follow. Without an evaluation, a sentence says why.
 */
function resultTable({ evaluation, night, verdict, collect }: Report): string {
  if (evaluation === null && verdict === 'diagnosed')
    return collect.ingested === undefined ? ENDED_AFTER_IDENTIFY : 'Nothing was played or trained.';
  if (evaluation === null) return night?.sentence ?? 'Nothing was evaluated: no adapter was trained.';
  const percent = `${Math.round(evaluation.confidence * 100)} %`;
  const { allOf: k = evaluation.trials, doNothing } = evaluation;
  // With one trial it equals the pass rate.
  const all = (rate: Interval | undefined): string[] => (k === 1 ? [] : [rate === undefined ? '' : share(rate)]);
  const row = (label: string, arm: Arm) => [
    label,
    share(arm.passRate),
    ...all(arm.passedAll),
    arm.kind === 'base' ? '' : difference(arm.minusBase),
    ...(arm.failed ? [failedText(arm.failed)] : []),
  ];
  const rows = [
    ['', `pass rate [${percent}]`, ...(k === 1 ? [] : [`pass^${k} [${percent}]`]), `minus base, paired [${percent}]`],
    ...(doNothing
      ? [['does nothing', share(doNothing.passRate), ...all(undefined), difference(reversed(doNothing.baseMinus))]]
      : []),
    row('base', evaluation.base),
    row(`best single (${evaluation.bestSingle.name.replace(/@.*/, '')})`, evaluation.bestSingle),
    ...(evaluation.incumbent === undefined
      ? []
      : [row(`active version ${evaluation.incumbent.version}`, evaluation.incumbent.arm)]),
    ...(evaluation.mixed === undefined ? [] : [row('mixed', evaluation.mixed)]),
    row(isMixedAlone(evaluation.router.choice) ? 'candidate (mixed alone)' : 'routed', evaluation.routed),
    row('oracle over adapters', evaluation.oracle),
  ];
  const apart = gateConfidenceNote(evaluation);
  const trials = `${evaluation.trials} trial${evaluation.trials === 1 ? '' : 's'}`;
  return [
    table(rows),
    `${evaluation.tasks} held-out tasks, ${trials} each`,
    ...(apart === null ? [] : [apart]),
    ...evaluation.caveats.map(cleanBlock),
  ].join('\n');
}

/** How many rollouts passed, of those that have a result. */
function collectedText({ collect }: Report): string {
  const { successes, failures, live, ingested, withoutOutcome = 0 } = collect;
  const judged = successes + failures;
  const rate = judged === 0 ? '' : ` (${(successes / judged).toFixed(3)})`;
  const open = withoutOutcome === 0 ? '' : `; without an outcome ${withoutOutcome}`;
  if (ingested !== undefined) return `conversations that succeeded: ${successes} of ${judged}${rate}${open}`;
  return `collected rollouts that passed: ${successes} of ${judged}${rate}${live === 0 ? '' : `, ${live} of live traffic`}`;
}

/** Gap and coverage of a kept capability; null if it was not contrasted. */
function keptText({ contrasts }: Report['identification'], id: string): string | null {
  const found = contrasts.find(({ capabilityId }) => capabilityId === id);
  if (found === undefined) return null;
  const { gap, coverage, intervals } = found;
  const words = (value: number | null, interval: Interval | null) =>
    interval === null ? (value?.toFixed(3) ?? 'unknown') : share(interval);
  return `  ${id}: gap ${words(gap, intervals.gap)}, coverage ${words(coverage, intervals.coverage)} (95 %)`;
}

/** What more conversations would tell. */
function openText({ identification, collect }: Report): string[] {
  const { episodes, failures } = collect;
  return identification.contrasts
    .filter(({ verdict }) => verdict === 'not-enough-data')
    .map(({ capabilityId, moreFailures }) => {
      const more = moreFailures === null ? null : Math.round((moreFailures * episodes) / failures);
      return `  cannot be told yet: ${capabilityId}${more === null ? '' : `, about ${more} more conversations would tell`}`;
    });
}

/** The findings, the verdict with its reasons, and the table of pass rates. */
export function reportText(report: Report): string {
  const { identification, gate, verdict, promotedVersion } = report;
  const planted = identification.planted;
  const reused = report.sharpened.flatMap(({ capability, adapter }) =>
    adapter?.reusedFrom === undefined ? [] : [`${capability.id} (${adapter.reusedFrom})`],
  );
  const { failed, failedTasks } = report.collect;
  const untrained = report.sharpened.filter(({ adapter }) => adapter === null);
  const list = (names: readonly string[]) => (names.length === 0 ? 'none' : names.join(', '));
  return [
    `analyst: ${report.analyst}`,
    collectedText(report),
    ...(failed ? [`collected rollouts without a result: ${failedText(failed)}${failedTasksText(failedTasks)}`] : []),
    ...(report.collect.withoutCalls === undefined
      ? []
      : [
          `collected successes without a call of a tool: ${report.collect.withoutCalls} of ` +
            `${report.collect.successes}; they show no skill with the tools`,
        ]),
    ...(report.collect.notWhole === undefined
      ? []
      : [`collected rollouts that are not whole, as images or such parts cannot be kept: ${report.collect.notWhole}`]),
    `capabilities found lacking: ${list(identification.kept)}`,
    ...identification.kept.map((id) => keptText(identification, id)).filter((text) => text !== null),
    ...(report.collect.ingested === undefined ? [] : openText(report)),
    ...untrained.map(
      ({ capability, status, reason }) => `  without an adapter: ${capability.id}, ${status}: ${reason}`,
    ),
    ...(reused.length === 0 ? [] : [`adapters of earlier runs: ${list(reused)}`]),
    // Without an evaluation, the sentence replaces the table.
    ...(report.night && report.evaluation !== null ? [report.night.sentence] : []),
    ...(planted === undefined
      ? []
      : [
          `deficits planted on purpose, found: ${list(planted.found.map((f) => f.planted))}; ` +
            `missed: ${list(planted.missed)}; invented: ${list(planted.invented)}`,
        ]),
    `verdict: ${verdict}${promotedVersion === null ? '' : ` (registry version ${promotedVersion})`}`,
    ...(gate === null ? [] : gate.reasons.map((reason) => `  ${reason}`)),
    ...(gate?.culprit === undefined ? [] : [`  culprit: ${gate.culprit}`]),
  ]
    .map(cleanBlock)
    .concat('', resultTable(report))
    .join('\n');
}
