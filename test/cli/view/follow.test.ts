// tier: unit
import { createPrinter } from '../../../cli/view/follow';
import type { RunProgress } from '../../../contracts/messages/run';

const BEGAN = 1_800_000_000_000;

/** The lines of a printer without a terminal that sees the same run every second. */
function linesOf(seconds: number, waitingAt: (second: number) => string | null): { second: number; text: string }[] {
  const lines: { second: number; text: string }[] = [];
  let second = 0;
  const unused = () => undefined;
  const printer = createPrinter({
    ...{ json: false, live: false, result: unused, redraw: unused, settle: unused },
    line: (text = '') => void lines.push({ second, text }),
  });
  for (; second <= seconds; second++) {
    const waitingFor = waitingAt(second);
    const stages: RunProgress['stages'] = [{ name: 'sharpen', status: 'running', detail: '', seconds: null }];
    printer.show({
      ...{ runId: 'run-desk-1', agent: 'desk', status: 'running', startedAt: BEGAN, closedAt: null },
      progress: { runId: 'run-desk-1', agent: 'desk', stages, waitingFor },
      ...{ activities: [], steps: [], pollers: {}, workers: null, result: null, failure: null },
      now: BEGAN + second * 1000,
    });
  }
  return lines;
}

test('without a terminal a stage without news is printed once a minute', () => {
  const seconds = linesOf(200, () => null).map(({ second }) => second);
  expect(seconds).toEqual([0, 60, 120, 180]);
});

test('without a terminal what waits for a person is printed when it begins or changes, and every five minutes', () => {
  const waits = linesOf(1000, (second) =>
    second < 5 ? null : second < 700 ? 'whet retry run-desk-1' : 'whet approve',
  );
  expect(waits.filter(({ text }) => text.startsWith('waits'))).toEqual([
    { second: 5, text: 'waits: whet retry run-desk-1' },
    { second: 305, text: 'waits for 5 min 00 s: whet retry run-desk-1' },
    { second: 605, text: 'waits for 10 min 00 s: whet retry run-desk-1' },
    { second: 700, text: 'waits: whet approve' },
    { second: 1000, text: 'waits for 5 min 00 s: whet approve' },
  ]);
});
