/**
 * Runs the worlds of examples/worlds and compares what each run serves with what routing could have gained. Every arm
 * is played again on the held-out tasks, 8 trials each by default: the base model, each adapter, the mixed adapter. The
 * oracle chooses an arm on half of the trials and is scored on the other half. It may read the environment's tags;
 * nothing of the run does. Where later turns move conversations, what is served is played as well; the oracle and the
 * routers alone choose once. A table says what each kind of router would have earned alone. The last line is JSON.
 *
 *     node dist/bench/worlds.js [--world venue-desk,clinic-desk] [--seed 1] [--tasks 150] [--trials 8]
 *     [--home .whetstone/worlds] [--minutes 30]
 *
 * A run is kept in HOME/WORLD and not made again; a world may also be the path of an agent.yaml.
 */
import { existsSync, readdirSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { mean } from '../activities/statistics/mean';
import type { Interval } from '../contracts/artifacts/evaluation';
import { MIXED, NONE_LABEL } from '../contracts/names';
import { projectRoot } from '../contracts/project-root';
import { artifactOf, type FinishedRun, finishedRun } from './worlds/finished-run';
import {
  ceilingOf,
  crossFittedOracle,
  meanOverTasks,
  type OutcomeTable,
  ratesOf,
  shareOfOracle,
} from './worlds/outcome-figures';
import { playArms, playServed, withPolicyServer } from './worlds/play-arms';
import { decisionsOf, routersAlone, type RouterAlone } from './worlds/routers-alone';

interface Options {
  seed: number;
  tasks: number;
  trials: number;
  home: string;
  minutes: number;
}

/** One world's table, with the rates of what was served and of the oracle, task by task. */
interface Measured {
  name: string;
  run: FinishedRun;
  table: OutcomeTable;
  base: number[];
  /** What the run would serve: its routed arm where it was promoted, else base. */
  served: number[];
  candidate: number[];
  oracle: number[];
  routers: RouterAlone[];
}

const WORLDS = join(projectRoot(), 'examples', 'worlds');
const minus = (a: readonly number[], b: readonly number[]) => a.map((value, task) => value - (b[task] as number));
const percent = (share: number) => `${(100 * share).toFixed(1)} %`;
const signed = (share: number) => `${share < 0 ? '' : '+'}${(100 * share).toFixed(1)}`;
const points = ({ estimate, low, high }: Interval) => `${signed(estimate)} [${signed(low)}, ${signed(high)}]`;

/** Paths of the agents, by the name of their world. */
function agentsOf(chosen: string | undefined): Map<string, string> {
  const names =
    chosen?.split(',') ?? readdirSync(WORLDS).filter((name) => existsSync(join(WORLDS, name, 'agent.yaml')));
  return new Map(
    names.map((name) => {
      const path = name.endsWith('.yaml') ? resolve(name) : join(WORLDS, name, 'agent.yaml');
      if (!existsSync(path))
        throw new RangeError(`--world ${JSON.stringify(name)}: ${path} does not exist; ${WORLDS} has the worlds.`);
      return [basename(dirname(path)), path];
    }),
  );
}

async function measure(name: string, agentPath: string, options: Options): Promise<Measured> {
  const { seed, minutes } = options;
  const run = await finishedRun({ agentPath, home: join(options.home, name), seed, minutes });
  if (run.report.evaluation === null)
    throw new Error(`${name}: the run ended with "${run.report.verdict}" and has no adapter to evaluate.`);
  return withPolicyServer(run, async (deps) => {
    const table = await playArms(deps, run, options);
    const decisions = await decisionsOf(run.store, artifactOf(run.report, 'routing decisions'));
    const base = ratesOf(table, () => NONE_LABEL);
    const candidate =
      (await playServed(deps, run, decisions, options)) ??
      ratesOf(table, (task) => decisions.get(table.seeds[task] as number) as string);
    const served = run.report.promotedVersion === null ? base : candidate;
    const routers = await routersAlone(deps, run);
    return { name, run, table, base, served, candidate, oracle: crossFittedOracle(table), routers };
  });
}

/** The figures of one world, from the trials of this measurement; `own` has those of the run itself. */
function figures({ run: { report }, table, base, served, candidate, oracle }: Measured, seed: number) {
  const share = shareOfOracle({ own: minus(served, base), oracle: minus(oracle, base) }, seed);
  const mixed = table.arms.includes(MIXED) ? mean(ratesOf(table, () => MIXED)) : null;
  const { evaluation } = report;
  const choice = evaluation?.router.choice;
  return {
    base: mean(base),
    served: mean(served),
    candidate: mean(candidate),
    mixed,
    oracle: mean(oracle),
    oracleWithoutMixed: mean(
      crossFittedOracle(
        table,
        table.arms.filter((arm) => arm !== MIXED),
      ),
    ),
    ceiling: mean(ceilingOf(table)),
    oracleShare: share.estimate,
    low: share.low,
    routingRollouts: choice ? choice.rollouts + (choice.laterTurns?.rollouts ?? 0) : null,
    moves: choice?.laterTurns?.adopted ?? false,
    router: choice?.chosen ?? null,
    promoted: report.promotedVersion !== null,
    tasks: table.seeds.length,
    trials: table.trials,
    own: {
      base: evaluation?.base.passRate.estimate,
      routed: evaluation?.routed.passRate.estimate,
      mixed: evaluation?.mixed?.passRate.estimate ?? null,
    },
    planted: report.identification.planted ?? null,
  };
}

/** Rows of the table: every way of serving, what it earned and what it cost. */
function ablationRows({ name, run: { report }, table, base, candidate, oracle, routers }: Measured, seed: number) {
  const gainOfOracle = minus(oracle, base);
  const row = (kind: string, rates: readonly number[], rollouts: number | string) => {
    const own = minus(rates, base);
    const share = shareOfOracle({ own, oracle: gainOfOracle }, seed);
    return [name, kind, percent(mean(rates)), points(meanOverTasks(own, seed)), percent(share.estimate), `${rollouts}`];
  };
  const choice = report.evaluation?.router.choice;
  return [
    row('none (base)', base, 0),
    ...table.arms
      .filter((arm) => arm === MIXED)
      .map((arm) =>
        row(
          'none (mixed adapter)',
          ratesOf(table, () => arm),
          0,
        ),
      ),
    ...routers.map(({ kind, rollouts, decisions }) =>
      row(
        `${kind} alone`,
        ratesOf(table, (task) => decisions.get(table.seeds[task] as number) as string),
        rollouts,
      ),
    ),
    row(`competition: ${choice?.chosen ?? 'logits'}`, candidate, choice?.rollouts ?? 0),
    row('oracle', oracle, '–'),
  ];
}

function printAblation(measured: readonly Measured[], seed: number): void {
  const head = ['world', 'router', 'passes', 'gain over base, points', "share of the oracle's gain", 'rollouts'];
  const rows = measured.flatMap((world) => ablationRows(world, seed));
  console.log(`\n| ${head.join(' | ')} |\n|${head.map(() => ' --- ').join('|')}|`);
  for (const cells of rows) console.log(`| ${cells.join(' | ')} |`);
  console.log('');
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      world: { type: 'string' },
      seed: { type: 'string', default: '1' },
      tasks: { type: 'string', default: '150' },
      trials: { type: 'string', default: '8' },
      minutes: { type: 'string', default: '30' },
      home: { type: 'string', default: join(projectRoot(), '.whetstone', 'worlds') },
    },
  });
  const options = {
    seed: Number(values.seed),
    tasks: Number(values.tasks),
    trials: Number(values.trials),
    minutes: Number(values.minutes),
    home: resolve(values.home),
  };
  const measured: Measured[] = [];
  const failed: Record<string, string> = {};
  for (const [name, path] of agentsOf(values.world)) {
    const began = Date.now();
    try {
      measured.push(await measure(name, path, options));
      console.error(`${name}: measured in ${Math.round((Date.now() - began) / 1000)} s`);
    } catch (error) {
      failed[name] = (error as Error).message;
      console.error(`${name}: ${failed[name]}`);
      process.exitCode = 1;
    }
  }
  if (measured.length > 0) printAblation(measured, options.seed);
  const pooled = {
    own: measured.flatMap(({ served, base }) => minus(served, base)),
    oracle: measured.flatMap(({ oracle, base }) => minus(oracle, base)),
  };
  console.log(
    JSON.stringify({
      name: 'worlds',
      worlds: Object.fromEntries(measured.map((world) => [world.name, figures(world, options.seed)])),
      pooledOracleShare: measured.length === 0 ? null : shareOfOracle(pooled, options.seed),
      ...(Object.keys(failed).length > 0 && { failed }),
    }),
  );
}

main().catch((error: unknown) => {
  console.error(error);
  process.exitCode = 1;
});
