// unit: when a worker looks for trainers whose run has ended, and what it says.
import { sweepOrphans } from '../../workers/orphan-sweep';

let out: string[] = [];
beforeEach(() => {
  out = [];
  jest.spyOn(console, 'log').mockImplementation((line: string) => void out.push(line));
  jest.spyOn(console, 'error').mockImplementation((line: string) => void out.push(line));
});
afterEach(() => jest.restoreAllMocks());

/** Sweeps with these results one after the other, and resolves when the last one was asked for. */
async function sweepThrough(results: (string[] | Error)[]): Promise<void> {
  let stop = (): void => undefined;
  await new Promise<void>((done) => {
    const sweep = async (): Promise<string[]> => {
      const result = results.shift();
      if (result instanceof Error) throw result;
      if (result === undefined) {
        done();
        return [];
      }
      return result;
    };
    stop = sweepOrphans('trainers', sweep, 1);
  });
  stop();
}

test('sweeps at once and again, and names the runs whose trainers it stopped', async () => {
  await sweepThrough([['run-1', 'run-2'], [], ['run-3']]);
  expect(out).toEqual([
    'Stopped the trainers of run-1: nobody waits for them any more.',
    'Stopped the trainers of run-2: nobody waits for them any more.',
    'Stopped the trainers of run-3: nobody waits for them any more.',
  ]);
});

test('a failure is said once, and the next sweep is made', async () => {
  await sweepThrough([new Error('no answer'), new Error('no answer'), ['run-1'], new Error('no answer')]);
  const failed = 'The trainers of runs that have ended could not be looked for: no answer';
  expect(out).toEqual([failed, 'Stopped the trainers of run-1: nobody waits for them any more.', failed]);
});
