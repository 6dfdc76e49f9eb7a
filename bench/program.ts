/**
 * Takes an agent that is a program through a whole run: the orders desk of examples/orders-desk/agent.program.yaml.
 * Then the unchanged program plays the held-out tasks through the gateway, with what is served and with base.
 * The same desk as a module makes a run of the same tasks and seed, for comparison. The last line is JSON; `problems`
 * says what does not hold, and the exit code is 1 unless it is empty:
 *
 * - Both runs promote a version.
 * - The gain through the gateway lies in the interval that the program's run states.
 *
 *     node dist/bench/program.js [--seed 1] [--minutes 20] [--home .whetstone/program]
 *
 * A finished run is kept in HOME and not made again.
 */
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { table } from '../cli/output';
import type { Interval } from '../contracts/artifacts/evaluation';
import { trajectorySchema } from '../contracts/artifacts/trajectory';
import { projectRoot } from '../contracts/project-root';
import { getLines } from '../store';
import { PROGRAM_AGENT, writeModuleAgent } from './program/module-agent';
import { playerSeconds } from './program/processor-time';
import { playThroughGateway } from './program/through-gateway';
import { startDemoAnalyst } from './shared/demo-analyst';
import { runHome } from './shared/run-home';
import { artifactOf, type FinishedRun, finishedRun } from './worlds/finished-run';

/** Held-out tasks of which the processor time of an episode is taken. */
const TIMED_TASKS = 40;

interface Options {
  seed: number;
  minutes: number;
  home: string;
}

const runProgram = (options: Options): Promise<FinishedRun> =>
  finishedRun({ ...options, home: runHome(options.home, 'program'), agentPath: PROGRAM_AGENT });

async function runModule(options: Options): Promise<FinishedRun> {
  const home = runHome(options.home, 'module');
  const analyst = await startDemoAnalyst(home);
  try {
    return await finishedRun({ ...options, home, agentPath: writeModuleAgent(home), analyst });
  } finally {
    await analyst.close();
  }
}

/** What a run says. Rates are shares of held-out tasks passed. */
interface RunFigures {
  verdict: string;
  /** Ids of the capabilities that have an adapter. */
  capabilities: string[];
  base: number;
  served: number;
  gain: Interval;
  /** Wall-clock seconds of each stage. */
  seconds: Record<string, number>;
  /** Processor seconds that an episode takes of the process that plays it. */
  playerSeconds: number;
}

async function figuresOf(run: FinishedRun): Promise<RunFigures> {
  const { verdict, evaluation, sharpened, stages, runId } = run.report;
  if (evaluation === null) throw new Error(`${runId} ended as ${verdict}, without an evaluation.`);
  return {
    verdict,
    capabilities: sharpened.filter(({ adapter }) => adapter !== null).map(({ capability }) => capability.id),
    base: evaluation.base.passRate.estimate,
    served: evaluation.routed.passRate.estimate,
    gain: evaluation.routedMinusBase,
    seconds: Object.fromEntries(stages.map(({ name, seconds }) => [name, Math.round(seconds)])),
    playerSeconds: await playerSeconds(run, TIMED_TASKS),
  };
}

/** How many of the base agent's train episodes are the same, message for message, and how many there are. */
async function sameEpisodes(runs: readonly [FinishedRun, FinishedRun]): Promise<{ same: number; of: number }> {
  const role = 'trajectories of the base agent on train tasks';
  const [ids, others] = await Promise.all(
    runs.map(async ({ store, report }) =>
      (await getLines(store, artifactOf(report, role), trajectorySchema)).map(({ id, reward }) => `${id} ${reward}`),
    ),
  );
  return { same: ids!.filter((id) => others!.includes(id)).length, of: ids!.length };
}

const points = ({ estimate, low, high }: Interval): string =>
  `${(100 * estimate).toFixed(1)} [${(100 * low).toFixed(1)}, ${(100 * high).toFixed(1)}]`;

/** More digits than the episodes carry would only make the line long. */
const rounded = (_: string, value: unknown): unknown =>
  typeof value === 'number' ? Math.round(value * 1e4) / 1e4 : value;

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      seed: { type: 'string', default: '1' },
      minutes: { type: 'string', default: '20' },
      home: { type: 'string', default: join(projectRoot(), '.whetstone', 'program') },
    },
  });
  const options = { seed: Number(values.seed), minutes: Number(values.minutes), home: resolve(values.home) };
  const asProgram = await runProgram(options);
  const program = await figuresOf(asProgram);
  console.error(`as a program: ${program.verdict}, gain ${points(program.gain)} points`);
  const gateway = await playThroughGateway(asProgram, runHome(options.home, 'program'));
  console.error(`through the gateway: gain ${points(gateway.gain)} points`);
  const asModule = await runModule(options);
  const module = await figuresOf(asModule);
  const episodes = await sameEpisodes([asProgram, asModule]);
  const problems = [
    ...[program, module].flatMap(({ verdict }, place) =>
      verdict === 'promoted' ? [] : [`the ${place === 0 ? 'program' : 'module'} ended as ${verdict}`],
    ),
    ...(gateway.gain.estimate < program.gain.low || gateway.gain.estimate > program.gain.high
      ? [`through the gateway the gain is ${points(gateway.gain)} points, and the run says ${points(program.gain)}`]
      : []),
  ];
  const row = (name: string, { base, served, gain }: RunFigures) => {
    const rates = [base, served].map((rate) => (100 * rate).toFixed(1));
    return [name, ...rates, points(gain)];
  };
  const head = ['', 'base', 'served', 'gain'];
  console.log(`\n${table([head, row('program', program), row('module', module)])}\n`);
  console.log(
    JSON.stringify({ name: 'program', seed: options.seed, program, gateway, module, episodes, problems }, rounded),
  );
  if (problems.length > 0) process.exitCode = 1;
}

main().catch((error: unknown) => {
  console.error(error);
  process.exitCode = 1;
});
