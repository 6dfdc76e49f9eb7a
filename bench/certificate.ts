/**
 * Measures the certificate of environments: forty wrong environments, of which few should pass, and ten good ones, of
 * which none should be refused (bench/certificate/README.md). Each is checked as `whet env check` does it. With
 * `--calibrate` those that pass are then calibrated with the demo agent's base model, which is trained unless the cache
 * has it, and the demo analyst reads those in band. Before the last line comes a table by check: what it refused, what
 * it alone refused, and its seconds. The last line is JSON. The tasks that are looked at follow from the source's hash:
 * with `--draws 4` each environment is checked four times, each time on other tasks.
 *
 *     node dist/bench/certificate.js [--set wrong|good] [--kind leak] [--only NAME,NAME] [--draws 1] [--jobs 2]
 *     [--calibrate] [--seed 1] [--out FILE]
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { projectRoot } from '../contracts/project-root';
import { withCalibration } from './certificate/calibrate-fixtures';
import { checkFixture, type FixtureRun } from './certificate/check-fixture';
import { type Fixture, hasModel, readFixtures } from './certificate/fixtures';
import { type CheckTally, refusals, summarise, tallyChecks } from './certificate/tally';

/** Calls `action` for each item, `width` of them at a time; the results are in the order of the items. */
async function atATime<T, R>(items: readonly T[], width: number, action: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  const queue = items.entries();
  const work = async () => {
    for (const [place, item] of queue) results[place] = await action(item);
  };
  await Promise.all(Array.from({ length: width }, work));
  return results;
}

function say(run: FixtureRun): void {
  const { name, set } = run.fixture;
  const refused = refusals(run);
  const verdict = refused.length === 0 ? 'passed' : `refused by ${refused.join(', ')}`;
  const asItShould = (set === 'good') === (refused.length === 0);
  console.log(`${asItShould ? ' ' : '!'} ${set.padEnd(5)} ${name.padEnd(22)} ${verdict}`);
}

function printTable(tallies: readonly CheckTally[]): void {
  console.log(`\n${'check'.padEnd(20)} caught  alone  good refused  seconds`);
  for (const { name, caught, caughtAlone, goodRefused, seconds } of tallies) {
    const cells = [
      name.padEnd(20),
      String(caught.length).padStart(6),
      String(caughtAlone.length).padStart(6),
      String(goodRefused.length).padStart(13),
      seconds.toFixed(1).padStart(8),
    ];
    console.log(cells.join(' '));
  }
}

function options() {
  const { values } = parseArgs({
    options: {
      set: { type: 'string' },
      kind: { type: 'string' },
      only: { type: 'string' },
      draws: { type: 'string', default: '1' },
      jobs: { type: 'string', default: '2' },
      seed: { type: 'string', default: '1' },
      calibrate: { type: 'boolean', default: false },
      out: { type: 'string' },
    },
  });
  const [jobs, seed, draws] = [Number(values.jobs), Number(values.seed), Number(values.draws)];
  if (!Number.isInteger(draws) || draws < 1 || draws > 100)
    throw new RangeError(`--draws ${JSON.stringify(values.draws)}: a whole number from 1 to 100.`);
  if (!Number.isInteger(jobs) || jobs < 1)
    throw new RangeError(`--jobs ${JSON.stringify(values.jobs)}: a whole number above 0.`);
  if (!Number.isInteger(seed) || seed < 0 || seed > 999)
    throw new RangeError(`--seed ${JSON.stringify(values.seed)}: a whole number from 0 to 999.`);
  return { ...values, jobs, seed, draws };
}

/** A fixture `draws` times, each time with another hash and so with other tasks. */
function drawn(fixture: Fixture, draws: number): Fixture[] {
  return Array.from({ length: draws }, (_, draw) =>
    draw === 0
      ? fixture
      : { ...fixture, name: `${fixture.name}-${draw + 1}`, source: `${fixture.source}\n# Draw ${draw + 1}\n` },
  );
}

/** The fixtures that the flags choose. @throws RangeError when a flag names what is not there. */
function choose({ set, kind, only }: { set?: string; kind?: string; only?: string }): Fixture[] {
  const all = readFixtures();
  const known = (flag: string, value: string, values: readonly (string | null)[]) => {
    if (!values.includes(value))
      throw new RangeError(
        `--${flag} ${JSON.stringify(value)}: one of ${[...new Set(values)].filter(Boolean).join(', ')}.`,
      );
  };
  if (set !== undefined) known('set', set, ['wrong', 'good']);
  if (kind !== undefined)
    known(
      'kind',
      kind,
      all.map((fixture) => fixture.kind),
    );
  const names = only?.split(',');
  for (const name of names ?? [])
    known(
      'only',
      name,
      all.map((fixture) => fixture.name),
    );
  return all.filter(
    (fixture) =>
      (set === undefined || fixture.set === set) &&
      (kind === undefined || fixture.kind === kind) &&
      (names === undefined || names.includes(fixture.name)),
  );
}

async function main(): Promise<void> {
  const flags = options();
  const fixtures = choose(flags).flatMap((fixture) => drawn(fixture, flags.draws));
  const folder = await mkdtemp(join(tmpdir(), 'whet-certificate-'));
  try {
    const runs = await atATime(fixtures, flags.jobs, async (fixture) => {
      const run = await checkFixture(fixture, folder);
      say(run);
      return run;
    });
    const passed = runs.filter((run) => refusals(run).length === 0 && hasModel(run.fixture));
    if (flags.calibrate && passed.length > 0) {
      console.log('\nCalibration of those that passed:');
      const models = join(projectRoot(), '.whetstone', 'models');
      await withCalibration({ seed: flags.seed, folder: join(folder, 'store'), models }, async (calibrate) => {
        for (const run of passed) {
          run.runs.push(...(await calibrate(run)));
          say(run);
        }
      });
    }
    printTable(tallyChecks(runs));
    if (flags.out !== undefined) await writeFile(flags.out, `${JSON.stringify(runs.map(withoutSource), null, 2)}\n`);
    console.log(JSON.stringify({ ...summarise(runs), calibrated: flags.calibrate }));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function withoutSource({ fixture: { source: _source, agent: _agent, ...fixture }, ...run }: FixtureRun) {
  return { ...fixture, ...run };
}

main().catch((error: unknown) => {
  console.error(error instanceof RangeError ? error.message : error);
  process.exitCode = error instanceof RangeError ? 2 : 1;
});
