/**
 * Measures the second reader alone: every environment of bench/certificate, the honest ones and the demo analyst's own
 * are calibrated with the demo agent's base model, whatever the checks and the band say, and read by the rule-based
 * demo analyst. Its labels are those of rules, so the figures say what the rule of the verdict does, and nothing about
 * the labels of a language model. Before the last line comes one line for each environment. The last line is JSON.
 *
 *     node dist/bench/second-reader.js [--only NAME,NAME] [--seed 1] [--models FOLDER] [--out FILE]
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { projectRoot } from '../contracts/project-root';
import { withCalibration } from './certificate/calibrate-fixtures';
import type { FixtureRun } from './certificate/check-fixture';
import { type Fixture, hasModel, readFixtures, readHonest } from './certificate/fixtures';

/** A band that takes everything, and few rollouts: the reader sees at most 100 of them. */
const EVERYTHING = {
  ...{ seeds: 30, rolloutsPerSeed: 3, meanReward: [0, 1] as [number, number], meanSuccess: [0, 1] as [number, number] },
  ...{ maxAllSuccessGroups: 1, maxAllZeroGroups: 1, maxConstantGroups: 1, minInformativeGroups: 0, minRewardStd: 0 },
};

interface Read {
  fixture: Fixture;
  passed: boolean;
  figures: Record<string, number>;
  detail: string;
}

function say({ fixture, passed, figures, detail }: Read): void {
  const asItShould = (fixture.set === 'good') === passed;
  const kappa = figures['kappa of label and reward']?.toFixed(2) ?? '–';
  const cells = [fixture.set.padEnd(5), fixture.name.padEnd(30), (fixture.kind ?? '').padEnd(20)];
  console.log(
    `${asItShould ? ' ' : '!'} ${cells.join(' ')} ${String(figures['rollouts read'] ?? 0).padStart(3)} read, kappa ` +
      `${kappa}: ${passed ? 'passed' : detail}`,
  );
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      only: { type: 'string' },
      seed: { type: 'string', default: '1' },
      models: { type: 'string', default: join(projectRoot(), '.whetstone', 'models') },
      out: { type: 'string' },
    },
  });
  const seed = Number(values.seed);
  if (!Number.isInteger(seed) || seed < 0 || seed > 999)
    throw new RangeError(`--seed ${JSON.stringify(values.seed)}: a whole number from 0 to 999.`);
  const only = values.only?.split(',');
  const all = [...readHonest(), ...readFixtures()].filter(hasModel);
  const unknown = only?.find((name) => !all.some((fixture) => fixture.name === name));
  if (unknown !== undefined)
    throw new RangeError(`--only ${unknown}: one of ${all.map(({ name }) => name).join(', ')}.`);
  const folder = await mkdtemp(join(tmpdir(), 'whet-second-reader-'));
  const reads: Read[] = [];
  try {
    const options = { seed, folder, models: values.models, calibration: EVERYTHING };
    await withCalibration(options, async (calibrate) => {
      for (const fixture of all.filter(({ name }) => only === undefined || only.includes(name))) {
        const run: FixtureRun = { fixture, runs: [], error: null, startSeconds: 0 };
        const check = (await calibrate(run)).find((one) => one.check.name === 'second-reader')?.check;
        const read = {
          fixture,
          passed: check?.passed ?? true,
          figures: Object.fromEntries((check?.figures ?? []).map(({ name, value }) => [name, value])),
          detail: check?.detail ?? 'not read: it differs by seed, or fails',
        };
        say(read);
        reads.push(read);
      }
    });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  if (values.out !== undefined)
    await writeFile(
      values.out,
      `${JSON.stringify(
        reads.map(({ fixture: { name, set, kind }, ...rest }) => ({ name, set, kind, ...rest })),
        null,
        2,
      )}\n`,
    );
  const of = (set: Fixture['set']) => reads.filter(({ fixture }) => fixture.set === set);
  console.log(
    JSON.stringify({
      name: 'second-reader',
      good: of('good').length,
      goodRefused: of('good').filter(({ passed }) => !passed).length,
      wrong: of('wrong').length,
      wrongCaught: of('wrong').filter(({ passed }) => !passed).length,
      labels: reads.reduce((sum, { figures }) => sum + (figures['rollouts read'] ?? 0), 0) / Math.max(1, reads.length),
    }),
  );
}

main().catch((error: unknown) => {
  console.error(error instanceof RangeError ? error.message : error);
  process.exitCode = error instanceof RangeError ? 2 : 1;
});
