/**
 * How often something is promoted although no night has a better candidate. Each sequence is one agent with 90 nights.
 * Each night trains and compares a candidate that is exactly as good as the version that is served. The k-th night is
 * judged as the k-th comparison. Outcomes are made up as in `bench/gate.ts`. Statistics, gate and error spending are
 * the service's own. Each night has held-out tasks of its own, which gives chance more room than the same tasks every
 * night. The last line is JSON: `promotedShare` is the share of sequences that promoted anything; `promotedUnspent` is
 * the same share without error spending, that is, with every comparison judged at `evaluation.confidence`. The bench
 * exits with 1 if `promotedShare` is above the stated error.
 *
 *     node dist/bench/nights-aa.js [--sequences 200] [--nights 90] [--tasks 420] [--trials 2] [--seed 1] [--threads 2]
 */
import { Worker, isMainThread, parentPort, workerData } from 'node:worker_threads';
import { type AaSequence, type AaTask, runSequence } from './nights-aa/run-sequence';
import { wholeNumberOptions } from './shared/whole-numbers';

const DEFAULTS = { sequences: 200, nights: 90, tasks: 420, trials: 2, seed: 1, threads: 2 };
/** Share of the sequences that may promote anything. */
const STATED_ERROR = 0.05;

/** Divides the sequences among threads. */
async function runAll(all: readonly AaTask[], threads: number): Promise<AaSequence[]> {
  const done: AaSequence[] = [];
  const shares = Array.from({ length: threads }, (_, thread) => all.filter((_task, i) => i % threads === thread));
  await Promise.all(
    shares.map(
      (tasks) =>
        new Promise<void>((resolve, reject) => {
          const worker = new Worker(__filename, { workerData: tasks });
          worker.on('message', (sequence: AaSequence) => {
            done.push(sequence);
            if (done.length % 20 === 0) console.log(`${done.length} of ${all.length} sequences`);
          });
          worker.once('error', reject);
          worker.once('exit', () => resolve());
        }),
    ),
  );
  return done;
}

async function main(): Promise<void> {
  const { sequences, nights, tasks, trials, seed, threads } = wholeNumberOptions(DEFAULTS);
  const began = Date.now();
  const all = Array.from({ length: sequences }, (_, i) => ({
    ...{ nights, tasks, trials, seed: (seed * 1_000_003 + i) * 104_729 },
  }));
  const done = await runAll(all, threads);
  if (done.length < sequences) throw new Error(`Only ${done.length} of ${sequences} sequences ended.`);
  const share = (of: (sequence: AaSequence) => boolean) => Number((done.filter(of).length / sequences).toFixed(4));
  const promoted = done.flatMap((one) => one.promotedIn ?? []);
  if (promoted.length > 0) console.log(`promoted in nights ${promoted.sort((a, b) => a - b).join(', ')}`);
  const promotedShare = share(({ promotedIn }) => promotedIn !== null);
  if (promotedShare > STATED_ERROR) process.exitCode = 1;
  console.log(
    JSON.stringify({
      name: 'nights-aa',
      ...{ sequences, nights, tasks, trials },
      promotedShare,
      promotedUnspent: share(({ promotedUnspent }) => promotedUnspent),
      statedError: STATED_ERROR,
      seconds: Math.round((Date.now() - began) / 1000),
    }),
  );
}

if (!isMainThread) for (const task of workerData as AaTask[]) parentPort?.postMessage(runSequence(task));
else if (require.main === module) void main();
