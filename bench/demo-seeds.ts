/**
 * Runs the demo with several seeds, each with a model of its own, and compares what is served with the mixed adapter.
 * With --untagged each seed is run a second time with every tag taken out of its environment: nothing but the report
 * about planted deficits may notice. It takes about 5 minutes a seed on two quiet cores. The last line is JSON.
 *
 *     node dist/bench/demo-seeds.js [--seeds 1,2,3] [--untagged] [--again] [--minutes 30]
 *     [--home .whetstone/demo-seeds]
 *
 * With --again it only holds the competition of each finished run again, on the run's labels and adapters, and prints
 * the chosen kind, the served rate and that of base with 95 % intervals, and the rollouts spent.
 *
 * A finished run is kept in HOME and not made again; HOME/models has the models. The pooled figures are means over the
 * seeds with 95 % intervals by Student's t: seeds differ more than the trials of one seed tell. `problems` names what
 * does not hold:
 *
 * - The lower end of served minus mixed, pooled, is at least -1 point.
 * - Tasks with several needs pass in 40 % of the trials at least, over all seeds; no other kind is served more than 2
 *   points below base.
 * - Without tags: the same capabilities, the same verdict, and served within its interval with tags.
 */
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { mean } from '../activities/statistics/mean';
import { student95 } from '../activities/statistics/student';
import { table } from '../cli/output';
import type { Interval } from '../contracts/artifacts/evaluation';
import { projectRoot } from '../contracts/project-root';
import { type KindFigures, seedFigures, type SeedFigures } from './demo-seeds/seed-figures';
import { writeDemoAgent, writeDemoEnvironment } from './shared/demo-agent';
import { startDemoAnalyst } from './shared/demo-analyst';
import { DESK } from './shared/demo-model';
import { runHome } from './shared/run-home';
import { finishedRun, storedRun } from './worlds/finished-run';
import { figuresHeldAgain, type HeldAgainFigures } from './worlds/held-again';

const UNTAGGED = 'orders-desk-untagged';
const LEAST_LEAD = -0.01;
const LEAST_SEVERAL = 0.4;
const MOST_LOSS = 0.02;

interface Options {
  home: string;
  minutes: number;
}

async function runSeed(options: Options, seed: number): Promise<SeedFigures> {
  const place = { home: runHome(options.home, `seed-${seed}`), seed, minutes: options.minutes };
  return seedFigures(await finishedRun({ ...place, agentPath: join(DESK, 'agent.yaml') }));
}

async function runUntagged(options: Options, seed: number): Promise<SeedFigures> {
  const home = runHome(options.home, `untagged-${seed}`);
  writeDemoEnvironment(home, [['            "tags": tags,\n', '']]);
  const agentPath = writeDemoAgent(home, UNTAGGED);
  const analyst = await startDemoAnalyst(home);
  try {
    return await seedFigures(await finishedRun({ ...options, home, seed, agentPath, analyst }));
  } finally {
    await analyst.close();
  }
}

/** Mean over seeds with a 95 % interval; a single seed has no interval. */
function overSeeds(values: readonly number[]): Interval {
  const estimate = mean(values);
  if (values.length < 2) return { estimate, low: estimate, high: estimate };
  const variance = values.reduce((sum, value) => sum + (value - estimate) ** 2, 0) / (values.length - 1);
  const half = student95(values.length - 1) * Math.sqrt(variance / values.length);
  return { estimate, low: estimate - half, high: estimate + half };
}

/** The same kind of task over all seeds; rates are weighted by tasks. */
function pooledKinds(seeds: readonly SeedFigures[]): KindFigures[] {
  const all = seeds.flatMap(({ kinds }) => kinds);
  return [...new Set(all.map(({ kind }) => kind))].sort().map((kind) => {
    const own = all.filter((one) => one.kind === kind);
    const tasks = own.reduce((sum, one) => sum + one.tasks, 0);
    const rate = (of: (one: KindFigures) => number) => own.reduce((sum, one) => sum + of(one) * one.tasks, 0) / tasks;
    const hasMixed = own.every(({ mixed }) => mixed !== null);
    return {
      kind,
      tasks,
      base: rate(({ base }) => base),
      served: rate(({ served }) => served),
      mixed: hasMixed ? rate(({ mixed }) => mixed ?? 0) : null,
    };
  });
}

const percent = (share: number | null) => (share === null ? '–' : `${(100 * share).toFixed(1)}`);
const signed = (share: number) => `${share < 0 ? '' : '+'}${(100 * share).toFixed(1)}`;
const points = (one: Interval | null) =>
  one ? `${signed(one.estimate)} [${signed(one.low)}, ${signed(one.high)}]` : '–';

function seedRow(name: string, one: SeedFigures): string[] {
  const several = one.kinds.find(({ kind }) => kind === 'several');
  const router = `${one.router}${one.moves ? ', moves' : ''}${one.severalNeeds ? ', several' : ''}`;
  return [
    ...[
      name,
      one.verdict,
      percent(one.base),
      percent(one.bestSingle),
      percent(one.mixed),
      percent(one.served.estimate),
    ],
    ...[percent(one.oracle), percent(one.ceiling), points(one.servedMinusBase), points(one.servedMinusMixed)],
    ...[several ? `${percent(several.served)} of ${several.tasks}` : '–', `${one.routingRollouts}`, router],
  ];
}

const SEED_HEAD = [
  ...['seed', 'outcome', 'base', 'best single', 'mixed', 'served', 'oracle', 'ceiling', 'served - base'],
  ...['served - mixed', 'several needs', 'rollouts', 'router'],
];

/** What of the acceptance does not hold, a sentence each. */
function problemsOf(seeds: readonly SeedFigures[], untagged: readonly SeedFigures[]): string[] {
  const lead = leadOf(seeds);
  const kinds = pooledKinds(seeds);
  const several = kinds.find(({ kind }) => kind === 'several');
  const without = untagged.flatMap((bare) => {
    const tagged = seeds.find(({ seed }) => seed === bare.seed)!;
    const { estimate } = bare.served;
    return [
      ...(bare.capabilities.join() === tagged.capabilities.join() ? [] : [`seed ${bare.seed}: other capabilities`]),
      ...(bare.verdict === tagged.verdict ? [] : [`seed ${bare.seed}: ${bare.verdict} instead of ${tagged.verdict}`]),
      ...(estimate >= tagged.served.low && estimate <= tagged.served.high
        ? []
        : [`seed ${bare.seed}: ${percent(estimate)} % served without tags`]),
    ];
  });
  return [
    ...(lead !== null && lead.low < LEAST_LEAD ? [`served - mixed is ${points(lead)}`] : []),
    ...(several !== undefined && several.served < LEAST_SEVERAL
      ? [`tasks with several needs pass in ${percent(several.served)} % of the trials`]
      : []),
    ...kinds
      .filter(({ kind, base, served }) => kind !== 'several' && served < base - MOST_LOSS)
      .map(({ kind, base, served }) => `${kind}: ${signed(served - base)} points against base`),
    ...without.map((text) => `without tags, ${text}`),
  ];
}

/** Served minus mixed over the seeds that have a mixed adapter. */
function leadOf(seeds: readonly SeedFigures[]): Interval | null {
  const leads = seeds.flatMap(({ servedMinusMixed }) => servedMinusMixed?.estimate ?? []);
  return leads.length === 0 ? null : overSeeds(leads);
}

/** Held-out tasks and trials on which a competition that is held again is judged. */
const AGAIN = { tasks: 150, trials: 4 };

/** Holds the competition of each seed's finished run again. */
async function again(options: Options, numbers: readonly number[]): Promise<void> {
  const seeds: HeldAgainFigures[] = [];
  for (const seed of numbers) {
    const run = await storedRun({ home: runHome(options.home, `seed-${seed}`), seed });
    if (run === null) throw new Error(`${options.home} has no finished run of seed ${seed}.`);
    seeds.push(await figuresHeldAgain(`seed ${seed}`, run, AGAIN));
    console.error(JSON.stringify(seeds.at(-1)));
  }
  console.log(JSON.stringify({ name: 'demo-seeds-again', seeds }));
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      seeds: { type: 'string', default: '1,2,3,4,5,6,7,8,9,10' },
      untagged: { type: 'boolean', default: false },
      home: { type: 'string', default: join(projectRoot(), '.whetstone', 'demo-seeds') },
      minutes: { type: 'string', default: '30' },
      again: { type: 'boolean', default: false },
    },
  });
  const numbers = values.seeds.split(',').map(Number);
  if (!numbers.every((seed) => Number.isInteger(seed) && seed >= 0))
    throw new RangeError(`--seeds ${values.seeds}: whole numbers with commas between them.`);
  const options = { home: resolve(values.home), minutes: Number(values.minutes) };
  if (values.again) return again(options, numbers);
  const seeds: SeedFigures[] = [];
  const untagged: SeedFigures[] = [];
  for (const seed of numbers) {
    seeds.push(await runSeed(options, seed));
    if (values.untagged) untagged.push(await runUntagged(options, seed));
    console.log(`seed ${seed}: ${percent(seeds.at(-1)!.served.estimate)} % served`);
  }
  const rows = [
    ...seeds.map((one) => seedRow(`${one.seed}`, one)),
    ...untagged.map((one) => seedRow(`${one.seed} without tags`, one)),
  ];
  console.log(`\n${table([SEED_HEAD, ...rows])}\n`);
  const kinds = pooledKinds(seeds);
  const kindRows = kinds.map(({ kind, tasks, base, mixed, served }) => [
    ...[kind, `${tasks}`, percent(base), percent(mixed), percent(served)],
  ]);
  console.log(`${table([['kind of task', 'tasks', 'base', 'mixed', 'served'], ...kindRows])}\n`);
  const problems = problemsOf(seeds, untagged);
  for (const problem of problems) console.log(problem);
  const gain = overSeeds(seeds.map(({ servedMinusBase }) => servedMinusBase.estimate));
  console.log(
    JSON.stringify({
      ...{
        name: 'demo-seeds',
        problems,
        servedMinusBase: gain,
        servedMinusMixed: leadOf(seeds),
        kinds,
        seeds,
        untagged,
      },
    }),
  );
  if (problems.length > 0) process.exitCode = 1;
}

main().catch((error: unknown) => {
  console.error(error);
  process.exitCode = 1;
});
