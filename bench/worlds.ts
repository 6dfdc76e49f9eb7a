/**
 * Runs the worlds of examples/worlds and compares what each run serves with what routing could have gained. Every arm
 * is played again on the held-out tasks, 8 trials each by default: the base model, each adapter, the mixed adapter. The
 * oracle chooses an arm on half of the trials and is scored on the other half. It may read the environment's tags;
 * nothing of the run does. Where later turns move conversations, what is served is played as well; the oracle and the
 * routers alone choose once. A table says what each way of routing earned and cost. The last line is JSON; `met` says
 * which limits hold, and the exit code is 1 unless all do.
 *
 *     node dist/bench/worlds.js [--world venue-desk,clinic-desk] [--seed 1] [--tasks 150] [--trials 8]
 *     [--home .whetstone/worlds] [--minutes 30] [--again]
 *
 * With --again it only holds the competition of each finished run again, on the run's labels and adapters, and prints
 * the chosen kind, the served rate and that of base with 95 % intervals, and the rollouts spent.
 *
 * A run is kept in HOME/WORLD and not made again; a world may also be the path of an agent.yaml.
 */
import { existsSync, readdirSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { projectRoot } from '../contracts/project-root';
import { ablationRows, ablationTable } from './worlds/ablation';
import { storedRun } from './worlds/finished-run';
import { figuresHeldAgain, type HeldAgainFigures } from './worlds/held-again';
import { limitsMet } from './worlds/limits';
import { measureWorld, type MeasuredWorld, type MeasureOptions } from './worlds/measure-world';
import { figuresOf, pooledShare, waysOf } from './worlds/world-figures';

const WORLDS = join(projectRoot(), 'examples', 'worlds');
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

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      world: { type: 'string' },
      seed: { type: 'string', default: '1' },
      tasks: { type: 'string', default: '150' },
      trials: { type: 'string', default: '8' },
      minutes: { type: 'string', default: '30' },
      home: { type: 'string', default: join(projectRoot(), '.whetstone', 'worlds') },
      again: { type: 'boolean', default: false },
    },
  });
  const options = {
    seed: Number(values.seed),
    tasks: Number(values.tasks),
    trials: Number(values.trials),
    minutes: Number(values.minutes),
    home: resolve(values.home),
  };
  if (values.again) return again([...agentsOf(values.world).keys()], options);
  const measured: MeasuredWorld[] = [];
  const failed: Record<string, string> = {};
  for (const [name, path] of agentsOf(values.world)) {
    const began = Date.now();
    try {
      measured.push(await measureWorld(name, path, options));
      console.error(`${name}: measured in ${Math.round((Date.now() - began) / 1000)} s`);
    } catch (error) {
      failed[name] = (error as Error).message;
      console.error(`${name}: ${failed[name]}`);
      process.exitCode = 1;
    }
  }
  const ablation = ablationRows(measured.map(waysOf), options.seed);
  console.log(`\n${ablationTable(ablation)}\n`);
  const worlds = measured.map((world) => ({ name: world.name, ...figuresOf(world, options.seed) }));
  const pooledOracleShare = measured.length === 0 ? null : pooledShare(measured, options.seed);
  const met = limitsMet(worlds, pooledOracleShare, Object.keys(failed).length);
  if (Object.values(met).includes(false)) process.exitCode = 1;
  const result = {
    name: 'worlds',
    worlds: Object.fromEntries(worlds.map(({ name, ...figures }) => [name, figures])),
    pooledOracleShare,
    met,
    ablation,
    ...(Object.keys(failed).length > 0 && { failed }),
  };
  console.log(JSON.stringify(result, (_, value: unknown) => (typeof value === 'number' ? rounded(value) : value)));
}

/** Holds the competition of each world's finished run again. */
async function again(names: readonly string[], options: MeasureOptions): Promise<void> {
  const worlds: HeldAgainFigures[] = [];
  for (const name of names) {
    const run = await storedRun({ home: join(options.home, name), seed: options.seed });
    if (run === null) throw new Error(`${join(options.home, name)} has no finished run of seed ${options.seed}.`);
    worlds.push(await figuresHeldAgain(name, run, options));
    console.error(JSON.stringify(worlds.at(-1)));
  }
  console.log(JSON.stringify({ name: 'worlds-again', worlds }));
}

/** More digits than the trials carry would only make the line long. */
const rounded = (value: number): number => Math.round(value * 1e5) / 1e5;

main().catch((error: unknown) => {
  console.error(error);
  process.exitCode = 1;
});
