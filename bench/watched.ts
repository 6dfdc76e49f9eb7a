/**
 * Measures the watch over trainings. Ten wrong environments of bench/certificate and twenty good ones are trained with
 * the demo agent's base model, its probes, and its train tasks as the demo analyst labels them. Where the watch ends a
 * training early, it is trained once more to the end, and every probed checkpoint plays held-out tasks.
 *
 * Of a wrong environment: what each kind of task that does not call for the capability lost, at the checkpoint that the
 * watch keeps and at every other, on a mixture of tasks. Of a good one: how far the kept checkpoint is below the best,
 * on as many tasks that call for the capability. What the report says of a training comes with its line.
 * The last line is JSON; `met` has the limits, and the exit code is 1 unless all hold.
 *
 *     node dist/bench/watched.js [--only NAME,NAME] [--seed 1] [--tasks 150] [--trials 8] [--jobs 2]
 *     [--models FOLDER] [--out FILE]
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { Interval } from '../contracts/artifacts/evaluation';
import type { TrainingWatch } from '../contracts/artifacts/training';
import { watchClause } from '../contracts/artifacts/watch-words';
import { projectRoot } from '../contracts/project-root';
import { type LabelledDesk, withLabelledDesk } from './shared/labelled-desk';
import { choose, type Chosen } from './watched/choose';
import {
  figuresOf,
  type GoodVerdict,
  judgeGood,
  judgeWrong,
  lossesOfOthers,
  type Passes,
  type WrongVerdict,
} from './watched/judge';
import { heldOutTasks, playCheckpoints, type Tasks } from './watched/play-checkpoints';
import { trainTwice } from './watched/train-twice';

/** A training with its verdict. */
interface Measured {
  name: string;
  round: number;
  capability: string;
  watch: TrainingWatch;
  wrong?: WrongVerdict;
  good?: GoodVerdict;
}

/** Plays a training's checkpoints, and base once for each set of tasks. */
class Judge {
  private readonly base = new Map<string, Promise<Passes>>();

  constructor(
    private readonly desk: LabelledDesk,
    private readonly tasks: Awaited<ReturnType<typeof heldOutTasks>>,
    private readonly trials: number,
  ) {}

  async measure(chosen: Chosen): Promise<Measured> {
    const { fixture, round } = chosen;
    const { name, set, capability } = fixture;
    const { watch, checkpoints } = await trainTwice(this.desk, chosen);
    const { seed, planted } = { seed: this.desk.context.seed, planted: this.desk.prepared.spec.groundTruth!.planted };
    const measured = { name, round, capability, watch };
    if (set === 'good') {
      const passes = await this.play(capability, this.tasks.callingFor(capability), checkpoints);
      return { ...measured, good: judgeGood(passes, watch, seed) };
    }
    const { tags } = this.tasks.mixture;
    const passes = await this.play('mixture', this.tasks.mixture, checkpoints);
    const losses = new Map(
      [...passes].map(([iteration, own]) => [
        iteration,
        lossesOfOthers({ tags, planted, capability }, passes.get(0)!, own, seed),
      ]),
    );
    return { ...measured, wrong: judgeWrong(losses, watch) };
  }

  private async play(name: string, { seeds }: Tasks, checkpoints: ReadonlyMap<number, string>) {
    const known = this.base.get(name) ?? playCheckpoints(this.desk, seeds, this.trials, [null]).then(([own]) => own!);
    this.base.set(name, known);
    const passes = await playCheckpoints(this.desk, seeds, this.trials, [...checkpoints.values()]);
    return new Map<number, Passes>([
      [0, await known],
      ...[...checkpoints.keys()].map((iteration, place) => [iteration, passes[place]!] as const),
    ]);
  }
}

const points = ({ estimate, low, high }: Interval): string =>
  `${(100 * estimate).toFixed(1)} [${(100 * low).toFixed(1)}, ${(100 * high).toFixed(1)}]`;
const percent = (share: number): string => `${(100 * share).toFixed(1)} %`;

function say({ name, round, watch, wrong, good }: Measured): void {
  const report = watchClause(watch) ?? 'all iterations trained, the last is kept';
  if (wrong !== undefined)
    console.log(
      `wrong ${name}: largest loss of other kinds, in points: kept (${watch.kept}) ${wrong.kept.kind} ` +
        `${points(wrong.kept)}, at the end ${wrong.atTheEnd.kind} ${points(wrong.atTheEnd)}; 20 points from iteration ` +
        `${wrong.harmedFrom ?? 'none'}${wrong.seenWithinTwoProbes === null ? '' : wrong.seenWithinTwoProbes ? ', seen' : ', NOT SEEN'}. Report: ${report}`,
    );
  if (good !== undefined)
    console.log(
      `good ${name} (${round}): base ${percent(good.base)}, kept (${watch.kept}) ${percent(good.kept)}, last ` +
        `${percent(good.last)}; points below the best ${points(good.belowBest)}. Report: ${report}`,
    );
}

function wholeNumber(name: string, text: string, from: number, to: number): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < from || value > to)
    throw new RangeError(`--${name} ${JSON.stringify(text)}: a whole number from ${from} to ${to}.`);
  return value;
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      only: { type: 'string' },
      seed: { type: 'string', default: '1' },
      tasks: { type: 'string', default: '150' },
      trials: { type: 'string', default: '8' },
      jobs: { type: 'string', default: '2' },
      models: { type: 'string', default: join(projectRoot(), '.whetstone', 'models') },
      out: { type: 'string' },
    },
  });
  const seed = wholeNumber('seed', values.seed, 0, 999);
  const tasks = wholeNumber('tasks', values.tasks, 1, 1000);
  const trials = wholeNumber('trials', values.trials, 2, 1000);
  const jobs = wholeNumber('jobs', values.jobs, 1, 64);
  const waiting = choose(values.only?.split(','));
  const began = performance.now();
  const folder = await mkdtemp(join(tmpdir(), 'whet-watched-'));
  const measured: Measured[] = [];
  const failed: Record<string, string> = {};
  try {
    await withLabelledDesk({ seed, folder, models: values.models }, async (desk) => {
      const judge = new Judge(desk, await heldOutTasks(desk, tasks), trials);
      const work = async (): Promise<void> => {
        for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
          try {
            const one = await judge.measure(next);
            measured.push(one);
            say(one);
            // What is known so far, should the measurement be ended early.
            if (values.out !== undefined) await writeFile(values.out, `${JSON.stringify(measured, null, 2)}\n`);
          } catch (error) {
            failed[next.fixture.name] = (error as Error).message;
            console.log(`${next.fixture.name}: ${(error as Error).message}`);
          }
        }
      };
      await Promise.all(Array.from({ length: jobs }, work));
    });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  const figures = figuresOf(
    measured.flatMap(({ wrong }) => wrong ?? []),
    measured.flatMap(({ good }) => good ?? []),
  );
  if (Object.values(figures.met).includes(false) || Object.keys(failed).length > 0) process.exitCode = 1;
  const seconds = Math.round((performance.now() - began) / 1000);
  console.log(
    JSON.stringify({ name: 'watched', ...figures, seconds, ...(Object.keys(failed).length > 0 && { failed }) }),
  );
}

main().catch((error: unknown) => {
  console.error(error instanceof RangeError ? error.message : error);
  process.exitCode = error instanceof RangeError ? 2 : 1;
});
