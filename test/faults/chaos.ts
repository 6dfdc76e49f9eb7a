/**
 * `test/faults/chaos`: one undisturbed run of a small agent, then runs of the same seed in state directories of their
 * own, each disturbed by faults drawn from a seeded generator or by one scenario. Checks that each ends as the
 * undisturbed one or waits with a reason, that nothing is paid twice, and that `whet down` leaves nothing behind.
 */
import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { randomSource } from '../../activities/statistics/random';
import { projectRoot } from '../../contracts/project-root';
import { table } from '../../cli/output';
import { CHANGED_AGENT, CHANGED_SCENARIOS, writeAgentBefore } from './chaos-run/changed-night';
import { canFillDisks, mountSmall, unmountSmall } from './chaos-run/disk';
import { FAULTS, type Fault } from './chaos-run/faults';
import { Instance } from './chaos-run/instance';
import {
  type Calm,
  calmRun,
  disturbedRun,
  endAll,
  mixture,
  type Result,
  type Script,
  type Timing,
} from './chaos-run/run';
import { markFirstNight, playFirstNight, prepareVersion, readFirstNight } from './chaos-run/second-night';
import { type Scenario, SCENARIOS as OTHER_SCENARIOS } from './chaos-run/scenarios';
import { hasFailed, summary, tables } from './chaos-run/summary';

/** The agent that is disturbed by default. */
const AGENT = 'test/faults/chaos-agent/agent.yaml';

const USAGE = `Usage: test/faults/chaos [options]
  --seed N          draws the faults (1); run k of them draws with N + k - 1
  --runs N          disturbed runs (3)
  --faults NAMES    ${FAULTS.map(({ name }) => name).join(',')} (all)
  --scenario NAMES  instead of faults at random: one run for each of these scenarios
  --agent FILE      the agent.yaml (${AGENT}); its runs need another --work folder than another agent's
  --second-night    disturb the second night of an unchanged agent, which reuses what an undisturbed first one made;
                    a version that the first one promoted is rolled back before
  --served-night    the same, but that version goes on serving, so the night measures it
  --changed-night   disturb the second night of an agent whose environment changed a little: what did not change is
                    reused, one capability is new and trained, and a version is promoted; the first one's version is
                    rolled back before. Its agent is ${CHANGED_AGENT}
  --list            list the scenarios and end
  --minutes N       how long the faults of a run go on (4); afterwards it is left in peace
  --calm-minutes N  how long it may take from then on (10)
  --every A,B       shortest and longest pause between two faults, in seconds (3,15)
  --work FOLDER     keep everything here, with a line of results.jsonl for each run; an undisturbed run that is there
                    already is used again
  --keep            keep the state directories (always with --work)`;

const SCENARIOS: readonly Scenario[] = [...OTHER_SCENARIOS, ...CHANGED_SCENARIOS];
/** Seed of the runs themselves. The undisturbed and all disturbed runs have the same. */
const RUN_SEED = 1;
/** An answer of the analyst takes this long, so that labelling has a middle in which something can be killed. */
const LATENCY_MS = 100;
/** What became of each run, a line as soon as it has ended. */
const RESULTS = 'results.jsonl';

interface Options {
  seed: number;
  runs: number;
  faults: readonly Fault[];
  scenarios: readonly Scenario[];
  timing: Timing;
  agent: string;
  night: Night;
  folder: string;
  keep: boolean;
}

/**
 * Which night of the agent is disturbed: its first, or a second one without or with the version of the first, or one
 * without it after a change of the environment.
 */
type Night = 'first' | 'second' | 'served' | 'changed';

/** Wrong words on the command line. */
class UsageError extends Error {}

function readOptions(): Options {
  const values = parseWords();
  const number = (name: 'seed' | 'runs' | 'minutes' | 'calm-minutes', fallback: number): number => {
    const value = Number(values[name] ?? fallback);
    if (value >= 0 && (Number.isInteger(value) || name.endsWith('minutes'))) return value;
    throw new UsageError(`--${name} ${values[name]}: a number, not negative.`);
  };
  const [least = NaN, most = NaN] = (values.every ?? '3,15').split(',').map(Number);
  if (!(least >= 0 && most >= least)) throw new UsageError(`--every ${values.every}: two numbers, such as 3,15.`);
  const faults = values.scenario === undefined ? named('faults', values.faults, FAULTS) : [];
  const scenarios = values.scenario === undefined ? [] : named('scenario', values.scenario, SCENARIOS);
  if (needsDisk({ faults, scenarios }) && !canFillDisks())
    throw new UsageError('A full disk needs root, for a small file system of its own: leave out what fills one.');
  return {
    ...{ seed: number('seed', 1), runs: number('runs', 3), faults, scenarios },
    timing: {
      every: [least * 1_000, most * 1_000],
      disturbedMs: number('minutes', 4) * 60_000,
      calmMs: number('calm-minutes', 10) * 60_000,
    },
    agent: resolve(values.agent ?? join(projectRoot(), nightOf(values) === 'changed' ? CHANGED_AGENT : AGENT)),
    night: nightOf(values),
    folder: values.work === undefined ? mkdtempSync(join(tmpdir(), 'whet-chaos-')) : resolve(values.work),
    keep: values.keep === true || values.work !== undefined,
  };
}

function nightOf(values: ReturnType<typeof parseWords>): Night {
  const nights = (['changed', 'served', 'second'] as const).filter((night) => values[`${night}-night`] === true);
  if (nights.length > 1) throw new UsageError(`--${nights.join('-night and --')}-night: one of them.`);
  return nights[0] ?? 'first';
}

function parseWords() {
  const string = { type: 'string' } as const;
  try {
    return parseArgs({
      options: {
        ...{ seed: string, runs: string, faults: string, minutes: string, 'calm-minutes': string, every: string },
        ...{ work: string, scenario: string, agent: string, keep: { type: 'boolean' } },
        ...{ 'second-night': { type: 'boolean' }, 'served-night': { type: 'boolean' } },
        ...{ 'changed-night': { type: 'boolean' } },
      },
    }).values;
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}

const needsDisk = ({ faults, scenarios }: Pick<Options, 'faults' | 'scenarios'>): boolean =>
  [...faults, ...scenarios].some((disturbance) => disturbance.needsDisk === true);

/** Those of a list that an option names; all when it is absent. */
function named<T extends { name: string }>(option: string, names: string | undefined, known: readonly T[]): T[] {
  return (names?.split(',') ?? known.map(({ name }) => name)).map((name) => {
    const found = known.find((one) => one.name === name);
    if (found !== undefined) return found;
    throw new UsageError(`--${option} ${name}: one of ${known.map((one) => one.name).join(', ')}.`);
  });
}

const speaker = (name: string) => (line: string) => console.log(`${name} ${line}`);

const buildHash = (): string => readFileSync(join(projectRoot(), 'dist', '.built-from'), 'utf8').trim();

/** The undisturbed run of this folder: made, unless one of the same build lies there. */
async function undisturbed(options: Options): Promise<Calm> {
  const { folder, night } = options;
  const path = join(folder, `calm${night === 'first' ? '' : `-${night}-night`}.json`);
  const build = buildHash();
  if (night !== 'first') await firstNight(options, build);
  if (existsSync(path)) {
    const kept = JSON.parse(readFileSync(path, 'utf8')) as Calm & { build: string };
    if (kept.build === build) return kept;
  }
  const instance = await newInstance(options, 'calm');
  const { calm, leftovers } = await calmRun(instance, RUN_SEED, randomSource(1), speaker('calm'));
  if (!existsSync(join(folder, 'models'))) cpSync(join(instance.home, 'models'), join(folder, 'models'), COPY);
  for (const leftover of leftovers) console.log(`calm left behind: ${leftover}`);
  console.log(`calm ${calm.outcome['verdict']} after ${calm.seconds.toFixed(0)} s, ${calm.keys.length} analyst calls`);
  writeFileSync(path, JSON.stringify({ ...calm, build }));
  return calm;
}

/** The first night that the undisturbed and the disturbed second ones begin from, unless it lies there already. */
async function firstNight(options: Options, build: string): Promise<void> {
  const { folder, night } = options;
  const marker = markerOf(folder, night);
  if (readFirstNight(marker, build) !== null) return;
  const before = night === 'changed' ? writeAgentBefore(options.agent, folder) : null;
  try {
    const name = firstOf(night);
    const instance = await newInstance({ ...options, agent: before?.path ?? options.agent, night: 'first' }, name);
    const agent = await playFirstNight(instance, RUN_SEED, speaker(name));
    if (!existsSync(join(folder, 'models'))) cpSync(join(instance.home, 'models'), join(folder, 'models'), COPY);
    markFirstNight(marker, { build, agent });
  } finally {
    before?.remove();
  }
}

/** Name of the first night that one like this begins from. */
const firstOf = (night: Night): string => (night === 'changed' ? 'first-before-the-change' : 'first');
const markerOf = (folder: string, night: Night): string => join(folder, `${firstOf(night)}.json`);
const COPY = { recursive: true };
/** The instance of the run that is being made. */
let current: Instance | null = null;

/** An installation in a new state directory, with the base model that an earlier one made. */
async function newInstance({ folder, agent, night }: Options, name: string, isSmall = false): Promise<Instance> {
  const home = join(folder, name);
  for (const path of [home, `${home}.door.jsonl`, `${home}.tmp`]) rmSync(path, { recursive: true, force: true });
  if (isSmall) mountSmall(home);
  current = await Instance.create(home, agent, LATENCY_MS);
  if (night !== 'first') cpSync(join(folder, firstOf(night)), home, COPY);
  else if (existsSync(join(folder, 'models'))) cpSync(join(folder, 'models'), join(home, 'models'), COPY);
  const first = night === 'first' ? null : readFirstNight(markerOf(folder, night), buildHash());
  if (night !== 'first' && first !== null) await prepareVersion(current, first.agent, night);
  return current;
}

/** One disturbed run to be made. */
interface Planned {
  name: string;
  seed: number;
  script: Script;
  expected?: 'cancelled' | undefined;
}

function plannedRuns({ seed, runs, faults, scenarios, timing }: Options): Planned[] {
  if (scenarios.length > 0) return scenarios.map((scenario) => ({ ...scenario, seed }));
  return Array.from({ length: runs }, (_, k) => ({
    name: `seed-${seed + k}`,
    seed: seed + k,
    script: mixture(faults, timing),
  }));
}

/** Makes a disturbed run in a state directory of its own. The base model is that of the undisturbed run. */
async function makeRun(options: Options, calm: Calm, { name, seed, script, expected }: Planned): Promise<Result> {
  const { timing } = options;
  const isSmall = needsDisk(options);
  const instance = await newInstance(options, name, isSmall);
  try {
    const random = randomSource(seed);
    return await disturbedRun(name, instance, {
      ...{ seed: RUN_SEED, calm, random, script, expected, timing },
      say: speaker(name),
    });
  } finally {
    if (isSmall) unmountSmall(instance.home);
  }
}

async function main(): Promise<number> {
  if (process.argv.includes('--help')) {
    console.log(USAGE);
    return 0;
  }
  if (process.argv.includes('--list')) {
    console.log(table(SCENARIOS.map(({ name, what }) => [name, what])));
    return 0;
  }
  const options = readOptions();
  mkdirSync(options.folder, { recursive: true });
  const results: Result[] = [];
  const broken: string[] = [];
  try {
    const calm = await undisturbed(options);
    for (const planned of plannedRuns(options)) {
      try {
        const result = await makeRun(options, calm, planned);
        results.push(result);
        appendFileSync(join(options.folder, RESULTS), `${JSON.stringify(result)}\n`);
      } catch (error) {
        // One that could not be begun, or whose result cannot be read, must not take the others with it.
        broken.push(`${planned.name}: ${(error as Error).message}`);
        console.error(error);
      }
    }
    console.log(`\n${[tables(results, calm), ...broken].join('\n')}\n`);
    console.log(JSON.stringify({ ...summary(results, calm), broken: broken.length }));
    return broken.length > 0 || results.some(hasFailed) ? 1 : 0;
  } finally {
    if (options.keep) console.log(`kept: ${options.folder}`);
    else rmSync(options.folder, { recursive: true, force: true });
  }
}

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
  process.on(signal, () => {
    if (current !== null) endAll(current);
    process.exit(130);
  });
main().then(
  (code) => process.exit(code),
  (error: unknown) => {
    console.error(error instanceof UsageError ? `${error.message}\n${USAGE}` : error);
    process.exit(error instanceof UsageError ? 2 : 1);
  },
);
