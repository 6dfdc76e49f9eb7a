import { table } from '../../../cli/output';
import type { FaultRecord } from './movement';
import type { Payments } from './payments';
import type { Calm, Result } from './run';

/** Whether a result shows a defect. `expected`: how its scenario ends when all is well. */
export const hasFailed = ({ end, expected, problems, leftovers, payments }: Result): boolean =>
  (end !== (expected ?? 'same') && end !== 'waits') ||
  problems.length > 0 ||
  leftovers.length > 0 ||
  payments.paidTwice.length > 0 ||
  payments.withoutKey > 0;

const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`;

/** The faults by what they hit, the runs, and what is wrong with them, for people. */
export function tables(results: readonly Result[], calm: Calm): string {
  const problems = results.flatMap((result) => complaints(result).map((line) => `${result.name}: ${line}`));
  return [faultTable(results), runTable(results, calm), problems.join('\n')].filter((part) => part !== '').join('\n\n');
}

function faultTable(results: readonly Result[]): string {
  const groups = new Map<string, FaultRecord[]>();
  for (const fault of results.flatMap(({ faults }) => faults))
    for (const target of fault.targets.length === 0 ? ['-'] : fault.targets) {
      const key = `${fault.fault.replace(/ two$/, '')}\t${target}`;
      groups.set(key, [...(groups.get(key) ?? []), fault]);
    }
  const rows = [...groups].map(([key, faults]) => {
    const stages = new Map<string, number>();
    for (const { stage } of faults) stages.set(stage, (stages.get(stage) ?? 0) + 1);
    const moved = faults.flatMap(({ movedAfterMs }) => movedAfterMs ?? []);
    const never = faults.length - moved.length;
    return [
      ...key.split('\t'),
      String(faults.length),
      [...stages].map(([stage, count]) => `${stage} ${count}`).join(', '),
      `${moved.length === 0 ? '' : seconds(Math.max(...moved))}${never === 0 ? '' : ` (${never} never)`}`.trim(),
    ];
  });
  return table([['fault', 'hit', 'times', 'in stage', 'longest until the run moved'], ...rows.sort(byText)]);
}

const byText = (a: readonly string[], b: readonly string[]): number => (a.join() < b.join() ? -1 : 1);

function runTable(results: readonly Result[], calm: Calm): string {
  const rows = results.map((result) => [
    result.name,
    String(result.faults.reduce((sum, { targets }) => sum + Math.max(1, targets.length), 0)),
    result.end + (result.answers === 0 ? '' : ` after ${result.answers} retries`),
    `${result.seconds.toFixed(0)} s`,
    seconds(result.longestSilenceMs),
    String(result.payments.paidTwice.length),
    repeated(result.payments),
    `+${result.payments.more} −${result.payments.fewer}`,
    String(result.leftovers.length),
  ]);
  const none = [
    'undisturbed',
    '0',
    JSON.parse(calm.outcome['verdict'] ?? '""') as string,
    `${calm.seconds.toFixed(0)} s`,
    '',
    '',
    '',
    '',
    '',
  ];
  const head = [
    'run',
    'hits',
    'end',
    'time',
    'longest silence',
    'paid twice',
    'in flight',
    'other calls',
    'left behind',
  ];
  return table([head, none, ...rows]);
}

/**
 * Calls that were repeated for a reason: the answer was under way, the disk was full, the stored line was damaged, or
 * another run asked the same.
 */
function repeated({ inFlight, diskFull, destroyed, otherRun }: Payments): string {
  const others = Object.entries({ disk: diskFull, damaged: destroyed, 'other run': otherRun }).filter(
    ([, count]) => count > 0,
  );
  return [inFlight, ...others.map(([why, count]) => `${count} ${why}`)].join(' + ');
}

function complaints(result: Result): string[] {
  const { end, differences, problems, leftovers, payments, why } = result;
  return [
    ...(end === 'failed' || end === 'stuck' || end === 'waits' ? [`${end}: ${why.split('\n').join(' | ')}`] : []),
    ...differences.map((line) => `differs: ${line}`),
    ...problems,
    ...payments.paidTwice.slice(0, 10).map((line) => `paid twice: ${line}`),
    ...(payments.withoutKey > 0 ? [`${payments.withoutKey} calls without an idempotency key`] : []),
    ...leftovers.map((line) => `left behind: ${line}`),
  ];
}

/** The figures for one line of JSON. */
export function summary(results: readonly Result[], calm: Calm) {
  const faults = results.flatMap((result) => result.faults);
  const ends = (end: Result['end']) => results.filter((result) => result.end === end).length;
  const sum = (count: (result: Result) => number) => results.reduce((total, result) => total + count(result), 0);
  const moved = faults.flatMap(({ movedAfterMs }) => movedAfterMs ?? []);
  return {
    runs: results.length,
    kills: faults.filter(({ fault }) => fault.startsWith('kill')).reduce((n, { targets }) => n + targets.length, 0),
    faults: faults.length,
    same: ends('same'),
    waits: ends('waits'),
    differs: ends('differs'),
    failed: ends('failed'),
    stuck: ends('stuck'),
    retries: sum(({ answers }) => answers),
    paidTwice: sum(({ payments }) => payments.paidTwice.length),
    inFlight: sum(({ payments }) => payments.inFlight),
    leftBehind: sum(({ leftovers }) => leftovers.length),
    problems: sum(({ problems }) => problems.length),
    longestUntilMovedSeconds: Math.max(0, ...moved) / 1000,
    undisturbedSeconds: Math.round(calm.seconds),
    disturbedSeconds: results.map((result) => Math.round(result.seconds)),
    ok: !results.some(hasFailed),
  };
}
