/**
 * What a finished run of the demo gives without the tickets that favour routing: the held-out tasks of the kinds in
 * which a newly learned habit does harm are left out, and the evaluation's own statistics are computed again from the
 * stored rollouts. Nothing is played. It takes seconds. The last line is JSON.
 *
 *     node dist/bench/without-exceptions.js [--home .whetstone] [--seed 1]
 *     [--kinds refund-verified,address-pickup,address-gift]
 */
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { outcomeSchema } from '../activities/evaluate/outcome-table';
import { table } from '../cli/output';
import { type Evaluation, type Interval, routingRecordSchema } from '../contracts/artifacts/evaluation';
import { projectRoot } from '../contracts/project-root';
import { openEnvironment } from '../sandbox';
import { getLines } from '../store';
import { readFileSync } from 'node:fs';
import { heldOutPlayed } from './shared/held-out-played';
import { figuresWithout } from './without-exceptions/figures-without';
import { adaptersOf, artifactOf, type FinishedRun, storedRun } from './worlds/finished-run';

const EXCEPTIONS = 'refund-verified,address-pickup,address-gift';
const percent = (share: number) => `${(100 * share).toFixed(1)} %`;
const signed = (share: number) => `${share < 0 ? '' : '+'}${(100 * share).toFixed(1)}`;
const points = (value: Interval | undefined) =>
  value === undefined ? '-' : `${signed(value.estimate)} [${signed(value.low)}, ${signed(value.high)}]`;

/** The kind of each task, from the environment itself. */
async function kindsOf(seeds: readonly number[]): Promise<Map<number, string>> {
  const path = join(projectRoot(), 'examples', 'orders-desk', 'environment.py');
  const environment = await openEnvironment({ source: readFileSync(path, 'utf8'), trust: 'owner', name: path });
  try {
    const kinds = new Map<number, string>();
    for (const seed of seeds) kinds.set(seed, String((await environment.task(seed))['kind']));
    return kinds;
  } finally {
    await environment.close();
  }
}

async function evaluationsOf(run: FinishedRun, dropped: readonly string[]): Promise<[Evaluation, Evaluation]> {
  const { store, report, prepared, context } = run;
  const { spec } = prepared;
  const { seeds, trials } = heldOutPlayed(store, context.runId, spec);
  const { adapters, mixed } = adaptersOf(report);
  const arms = [];
  for (const name of ['base', 'routed', ...adapters.map((one) => one.name), ...(mixed.length > 0 ? ['mixed'] : [])]) {
    const ref = artifactOf(report, `held-out trajectories of ${name}`);
    arms.push({ name, outcomes: await getLines(store, ref, outcomeSchema) });
  }
  const { bootstrapSamples, confidence } = spec.evaluation;
  const options = {
    capabilities: report.sharpened.map(({ capability }) => capability),
    adapters,
    routing: await getLines(store, artifactOf(report, 'routing decisions'), routingRecordSchema),
    readsTags: false,
    ...{ bootstrapSamples, confidence, seed: context.seed },
  };
  const played = { arms, kinds: await kindsOf(seeds), trials };
  return [figuresWithout(played, [], options), figuresWithout(played, dropped, options)];
}

function rowOf(name: string, evaluation: Evaluation): string[] {
  const { tasks, base, mixed, routed, oracle, oracleCeiling, routedMinusBase, routedMinusMixed } = evaluation;
  const rates = [base.passRate.estimate, mixed?.passRate.estimate, routed.passRate.estimate, oracle.passRate.estimate];
  return [
    ...[name, String(tasks)],
    ...[...rates, oracleCeiling].map((rate) => (rate === undefined ? '-' : percent(rate))),
    ...[points(routedMinusBase), points(routedMinusMixed)],
  ];
}

const figuresOf = ({ tasks, base, mixed, routed, oracle, ...rest }: Evaluation) => ({
  tasks,
  base: base.passRate.estimate,
  mixed: mixed?.passRate.estimate ?? null,
  routed: routed.passRate.estimate,
  oracle: oracle.passRate.estimate,
  ceiling: rest.oracleCeiling,
  routedMinusBase: rest.routedMinusBase,
  routedMinusMixed: rest.routedMinusMixed ?? null,
});

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      home: { type: 'string', default: '.whetstone' },
      seed: { type: 'string', default: '1' },
      kinds: { type: 'string', default: EXCEPTIONS },
    },
  });
  const home = resolve(values.home);
  const run = await storedRun({ home, seed: Number(values.seed) });
  if (run === null) throw new Error(`${home} has no finished run with seed ${values.seed}: run make demo first.`);
  const dropped = values.kinds.split(',');
  const [all, without] = await evaluationsOf(run, dropped);
  const head = ['', 'tasks', 'base', 'mixed', 'routed', 'oracle', 'ceiling', 'routed − base', 'routed − mixed'];
  console.log(table([head, rowOf('all tickets', all), rowOf('without', without)]));
  console.log(
    JSON.stringify({
      ...{ name: 'without-exceptions', runId: run.report.runId, seed: run.report.seed, kinds: dropped },
      ...{ all: figuresOf(all), without: figuresOf(without) },
    }),
  );
}

if (require.main === module)
  main().catch((error: unknown) => {
    console.error(error);
    process.exitCode = 1;
  });
