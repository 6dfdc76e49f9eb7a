// tier: unit
import { createPrinter } from '../../../cli/view/follow';
import { createOutput } from '../../../cli/output';
import type { PendingActivity } from '../../../cli/view/run-state';
import type { RunProgress, RunWait } from '../../../contracts/messages/run';

const BEGAN = 1_800_000_000_000;

/** The lines of a printer without a terminal that sees the same run every second. */
function linesOf(seconds: number, waitsAt: (second: number) => RunWait[]): { second: number; text: string }[] {
  const lines: { second: number; text: string }[] = [];
  let second = 0;
  const unused = () => undefined;
  const printer = createPrinter({
    ...{ live: false, result: unused, redraw: unused },
    line: (text = '') => void lines.push({ second, text }),
  });
  for (; second <= seconds; second++) {
    const stages: RunProgress['stages'] = [{ name: 'sharpen', status: 'running', detail: '', seconds: null }];
    printer.show({
      ...{ runId: 'run-desk-1', agent: 'desk', status: 'running', startedAt: BEGAN, closedAt: null },
      progress: { runId: 'run-desk-1', agent: 'desk', stages, waitingFor: null, waits: waitsAt(second), failing: [] },
      ...{ activities: [], steps: [], pollers: {}, workers: null, result: null, failure: null },
      now: BEGAN + second * 1000,
    });
  }
  return lines;
}

test('without a terminal a stage without news is printed once a minute', () => {
  const seconds = linesOf(200, () => []).map(({ second }) => second);
  expect(seconds).toEqual([0, 60, 120, 180]);
});

test('without a terminal what waits for a person is printed when it begins or changes, and every five minutes', () => {
  const operators = (reason: string): RunWait => ({ key: 'collect', who: 'operator', sinceMs: BEGAN, reason });
  const waits = linesOf(1000, (second) =>
    second < 5 ? [] : [operators(second < 700 ? 'The disk is full.' : 'The disk is slow.')],
  ).filter(({ text }) => text.startsWith('waits'));
  expect(waits.map(({ second, text }) => [second, text.split('\n')[0]?.replace(/^.*UTC /, '')])).toEqual([
    [5, '(5.0 s). collect: The disk is full.'],
    [305, '(5 min 05 s). collect: The disk is full.'],
    [605, '(10 min 05 s). collect: The disk is full.'],
    [700, '(11 min 40 s). collect: The disk is slow.'],
    [1000, '(16 min 40 s). collect: The disk is slow.'],
  ]);
});

/** The run as its worker says it, with parts that wait. */
const waitingState = (second: number, waits: RunWait[]) => ({
  ...{ runId: 'run-desk-1', agent: 'desk', status: 'running' as const, startedAt: BEGAN, closedAt: null },
  progress: {
    ...{ runId: 'run-desk-1', agent: 'desk', stages: [], waits, failing: [] },
    waitingFor: waits.map(({ key, reason }) => `${key}: ${reason}`).join('\n') || null,
  },
  ...{ activities: [], steps: [], pollers: {}, workers: null, result: null, failure: null },
  now: BEGAN + second * 1000,
});

const owners: RunWait = {
  ...{ key: 'refunds', who: 'owner', sinceMs: BEGAN },
  reason: 'None passed. Then: whet retry run-desk-1 refunds, or whet skip run-desk-1 refunds',
};
const gates: RunWait = {
  ...{ key: 'promote', who: 'approval', sinceMs: BEGAN + 60_000 },
  reason: 'The gate is passed: whet approve run-desk-1',
};
const OWNERS = [
  `waits for the agent's owner, since 2027-01-15 08:00 UTC (5.0 s). refunds: None passed.`,
  '  in another terminal, one of:\n    whet retry run-desk-1 refunds\n    whet skip run-desk-1 refunds',
].join('\n');
const GATES = [
  `waits for an approval, since 2027-01-15 08:01 UTC (1.0 s). promote: ${gates.reason}`,
  '  in another terminal:\n    whet approve run-desk-1',
].join('\n');

test('each wait is told once with whom it is for, since when and the commands, and again when it changes', () => {
  const told: string[] = [];
  const unused = () => undefined;
  const printer = createPrinter({
    ...{ live: false, result: unused, redraw: unused },
    line: (text = '') => void told.push(text),
  });
  for (const second of [5, 6, 7]) printer.show(waitingState(second, [owners]));
  expect(told).toEqual([OWNERS]);
  // A second wait leaves the first one alone; one that ended and began again is told again.
  for (const second of [61, 62]) printer.show(waitingState(second, [owners, gates]));
  expect(told).toEqual([OWNERS, GATES]);
  printer.show(waitingState(65, [{ ...owners, sinceMs: BEGAN + 64_000 }, gates]));
  expect(told[2]).toContain("waits for the agent's owner, since 2027-01-15 08:01 UTC (1.0 s). refunds: ");
  printer.show(waitingState(361, [{ ...owners, sinceMs: BEGAN + 64_000 }, gates]));
  expect(told.slice(3)).toEqual([expect.stringContaining('08:01 UTC (5 min 01 s). promote: ')]);
});

test('on a narrow terminal a wait is printed in full once, above the table', () => {
  let written = '';
  const stream = { isTTY: true, columns: 40, write: (text: string) => Boolean((written += text)) };
  const term = process.env['TERM'];
  process.env['TERM'] = 'xterm';
  const printer = createPrinter(createOutput(false, stream));
  for (const second of [5, 6, 400]) printer.show(waitingState(second, [owners]));
  process.env['TERM'] = term;
  expect(written.split(OWNERS)).toHaveLength(2);
  expect(written).toContain("refunds waits for the agent's owner, ");
});

/** An activity that fails at each attempt; each lasts a second and is followed by a pause of four. */
function failingAt(second: number, activityType: string, message: string): PendingActivity {
  const attempt = Math.floor(second / 5) + 1;
  const isPause = second % 5 > 0;
  return {
    ...{ workflowId: 'run-desk-1', activityType, taskQueue: 'whet-orchestration', maximumAttempts: null },
    ...{ status: isPause ? 'backing-off' : 'started', attempt: isPause ? attempt + 1 : attempt, progress: null },
    ...{ heartbeatAt: null, scheduledAt: null, startedAt: null, workerIdentity: null },
    nextAttemptAt: isPause ? BEGAN + attempt * 5000 : null,
    lastFailure: attempt > 1 || isPause ? { type: 'Model.Unreachable', message } : null,
  };
}

/** The lines of a printer that sees an activity fail for so many seconds, with the second of each. */
function linesOfFailing(seconds: number, activityType: string, messageAt: (second: number) => string): string[] {
  const told: string[] = [];
  let second = 0;
  const unused = () => undefined;
  const printer = createPrinter({
    ...{ live: false, result: unused, redraw: unused },
    line: (text = '') => void told.push(`${second}: ${text}`),
  });
  for (; second <= seconds; second++)
    printer.show({
      ...waitingState(second, []),
      activities: [failingAt(second, activityType, messageAt(second))],
    });
  return told;
}

test('first checks that fail are told at the first failure, once for each failure, with what to do', () => {
  const counted = (second: number) => (second < 15 ? '' : ` The same failure came ${second} times in a row.`);
  const message = (second: number) =>
    `${second < 80 ? 'Port 8000 is silent.' : 'Port 8001 is silent.'}${counted(second)}`;
  const told = linesOfFailing(100, 'prepareRun', message).filter((text) => text.includes('Trouble'));
  expect(told).toEqual([
    expect.stringMatching(
      /^1: Trouble since 2027-01-15 08:00 UTC \(0\.0 s\)\. Checking agent\.yaml.*: attempt 1 failed; the next starts in 4\.0 s\. Model\.Unreachable: Port 8000 is silent\. What to do: Start it, or correct model\.baseUrl/,
    ),
    expect.stringMatching(/^80: Trouble at least since 2027-01-15 08:01 .*Port 8001 is silent\. The same failure came/),
  ]);
});

test('first checks that take long have a line of their own, once a minute', () => {
  const lines = linesOfFailing(75, 'prepareRun', () => 'Nobody answers.').filter((text) => /^\d+: prepare /.test(text));
  expect(lines.map((text) => text.replace(/ +/g, ' '))).toEqual(['10: prepare … 10 s', '70: prepare … 1 min 10 s']);
});

test('what fails in a stage is told from its second failure on', () => {
  const told = linesOfFailing(100, 'labelChunk', (second) => `No answer for task ${second}.`);
  expect(told.filter((text) => text.includes('Trouble'))).toEqual([expect.stringMatching(/^6: .*attempt 2 failed/)]);
});
