/**
 * A year of nights of a simulated agent, and how often they decide wrongly. What generates and trains is made up
 * (environment, model, analyst, trainer: `bench/nights/stub-*.ts`), so that the truth of every night is known. All else
 * is the service's own: workflows on a Temporal dev server, store, identification, statistics, routers, gate, registry,
 * report. `bench/nights/world.ts` says what changes in the year.
 *
 * - `falsePromotions`: nights that promoted a candidate whose true pass rate on the held-out tasks is not above that of
 *   what was served. Stated: at most 5 % for each version that nothing beats.
 * - `missedRegressions`: seven nights in a row that ended although what is served truly loses, or lacks, more than they
 *   say that they can see.
 * - `wrongDecisions`: nights with a decision that is wrong in another way. `false-alarm`: it went on, and none of its
 *   reasons is true. `missed`: it ended, although more is truly lost or lacking than it says that it can see (in four
 *   nights of five). `kept-although-better`: the candidate was truly better by more than the evaluation said before
 *   that it can prove (in four of five).
 * - `blockedNights`: nights that ended although something larger is lacking, because an earlier night had worked on it
 *   with the same content and could not cure it. They follow the rule of ADR 0017 and are in no other count.
 *
 * A set without an adapter that a night retired may be as good as what was served: it is a false promotion where it is
 * truly worse.
 *
 * The last line is JSON. It exits with 1 where the limits are broken: more false promotions than the stated error makes
 * likely (5 % for each version that served, at 95 %), a missed regression, or more than 2 % of other wrong decisions.
 *
 *     node dist/bench/nights.js [--nights 365] [--from 1] [--keep FOLDER]
 *
 * `--from 300` begins the year on that day, as a first night: for a look at what happens late in it.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { judgeNight, type Judgement, type NightRecord } from './nights/judge-night';
import { decisionTable, nightLine } from './nights/tables';
import { missedEvents } from './nights/missed-events';
import { Year } from './nights/year';

/** A night with how it is judged. */
export type JudgedNight = NightRecord & Judgement;

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      nights: { type: 'string', default: '365' },
      from: { type: 'string', default: '1' },
      keep: { type: 'string' },
    },
  });
  const nights = Number(values.nights);
  const from = Number(values.from);
  for (const [name, value] of Object.entries({ nights, from }))
    if (!Number.isInteger(value) || value < 1) throw new RangeError(`--${name}: a whole number above 0.`);
  const folder = values.keep ?? (await mkdtemp(join(tmpdir(), 'whet-nights-')));
  const began = Date.now();
  const judged: JudgedNight[] = [];
  try {
    const days = Array.from({ length: nights }, (_, i) => i + from);
    await new Year(folder).run(days, (night) => {
      const one = { ...night, ...judgeNight(night) };
      judged.push(one);
      const line = nightLine(one);
      if (line !== null) console.log(line);
    });
  } finally {
    if (values.keep === undefined) await rm(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 });
  }
  console.log(`\n${decisionTable(judged)}\n`);
  const wrong = (kind: string) => judged.filter((night) => night.wrong.some((one) => one === kind)).length;
  const others = judged.filter((night) => night.wrong.some((one) => one !== 'false-promotion')).length;
  const missed = missedEvents(judged);
  for (const event of missed) console.log(`missed: ${event}`);
  const promotions = judged.filter(({ promotedVersion }) => promotedVersion !== null).length;
  const isWithin =
    wrong('false-promotion') <= mostFalse(promotions + 1) && missed.length === 0 && others <= 0.02 * nights;
  if (!isWithin) process.exitCode = 1;
  console.log(
    JSON.stringify({
      name: 'nights',
      nights,
      wrongDecisions: others,
      falsePromotions: wrong('false-promotion'),
      missedRegressions: missed.length,
      falseAlarms: wrong('false-alarm'),
      missedNights: wrong('missed'),
      keptAlthoughBetter: wrong('kept-although-better'),
      blockedNights: judged.filter(({ decision, blocked }) => decision?.outcome !== 'goes-on' && blocked.length > 0)
        .length,
      driftingNights: judged.filter(
        ({ decision }) => decision?.capabilities.some(({ state }) => state === 'drifting') === true,
      ).length,
      promotions,
      comparisons: judged.filter(({ compared }) => compared !== null).length,
      rollouts: judged.reduce((sum, { spend }) => sum + spend.rollouts, 0),
      labels: judged.reduce((sum, { spend }) => sum + spend.labels, 0),
      trainings: judged.reduce((sum, { spend }) => sum + spend.trainings, 0),
      seconds: Math.round((Date.now() - began) / 1000),
    }),
  );
}

/** As many false promotions as so many versions may have at 5 % each: more have a chance of at most 5 %. */
function mostFalse(versions: number): number {
  let [most, term, below] = [0, 0.95 ** versions, 0];
  for (below += term; below < 0.95; below += term) {
    term *= ((versions - most) / (most + 1)) * (0.05 / 0.95);
    most++;
  }
  return most;
}

if (require.main === module) void main();
