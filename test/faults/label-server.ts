/**
 * `node dist/test/faults/label-server.js`: labels the same pairs through a calm endpoint and through one that answers
 * 30 % of the requests with a fault (429 with and without Retry-After, 500, connection resets, hangs, cut answers,
 * junk), with real Temporal server and worker. Compares the labels, counts the calls, and writes the rates as a
 * picture. Exit code 1 when a label differs, when more than 1.6 times the calls were needed, or when repetitions came
 * in a storm. The last line is JSON.
 *
 *     node dist/test/faults/label-server.js [--calls 2100] [--concurrency 64] [--faults 0.3] [--seed 1] [--plot
 *     .whetstone/label-rates.svg]
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { parseArgs } from 'node:util';
import { CANDIDATES, LabellingService } from '../../bench/label/labelling-service';
import { freePort, Processes, untilAnswers } from '../../bench/shared/processes';
import type { LabelChunkResult } from '../../contracts/messages/identify-stage';
import { labelsOf } from './label-content';
import { serveFaults, type FaultStats } from './label-fault-endpoint';
import { ratePlot } from './label-rate-plot';

/** More calls than this per label mean that repetitions are not kept in bounds. */
const MAX_CALLS = 1.6;
/**
 * Without a limit to keep, no second may have more requests than this many times the calm run's busiest: a storm looks
 * like that.
 */
const MAX_PEAK = 1.2;

interface Options {
  calls: number;
  concurrency: number;
  faults: number;
  seed: number;
  plot: string;
}

interface Outcome {
  seconds: number;
  totals: LabelChunkResult;
  labels: string;
  stats: FaultStats;
}

async function labelOnce(
  service: LabellingService,
  children: Processes,
  name: string,
  faults: number,
  options: Options,
): Promise<Outcome> {
  const port = await freePort();
  children.start(process.execPath, [__filename, 'endpoint', JSON.stringify({ port, faults, seed: options.seed })]);
  await untilAnswers(`http://127.0.0.1:${port}/stats`);
  const analyst = { concurrency: options.concurrency, timeoutSeconds: 2 };
  const planned = await service.plan({
    runId: name,
    agent: name,
    stubUrl: `http://127.0.0.1:${port}/v1`,
    trajectories: Math.ceil(options.calls / CANDIDATES.length),
    padding: 500,
    analyst,
  });
  const began = Date.now();
  const totals = (await (await service.label(planned)).result()) as LabelChunkResult;
  const seconds = (Date.now() - began) / 1000;
  const stats = (await (await fetch(`http://127.0.0.1:${port}/stats`)).json()) as FaultStats;
  return { seconds, totals, labels: await labelsOf(service.store, name), stats };
}

async function main(): Promise<number> {
  if (process.argv[2] === 'endpoint') {
    serveFaults(JSON.parse(process.argv[3] as string) as Parameters<typeof serveFaults>[0]);
    return new Promise(() => undefined);
  }
  const string = (fallback: string) => ({ type: 'string', default: fallback }) as const;
  const { values } = parseArgs({
    options: {
      calls: string('2100'),
      concurrency: string('64'),
      faults: string('0.3'),
      seed: string('1'),
      plot: string('.whetstone/label-rates.svg'),
    },
  });
  const options: Options = {
    calls: Number(values.calls),
    concurrency: Number(values.concurrency),
    faults: Number(values.faults),
    seed: Number(values.seed),
    plot: values.plot,
  };
  const children = new Processes();
  const service = await LabellingService.start();
  try {
    service.startWorker();
    const calm = await labelOnce(service, children, 'calm', 0, options);
    const faulty = await labelOnce(service, children, 'faulty', options.faults, options);
    const pairs = calm.totals.asked;
    const callRatio = faulty.stats.requests / pairs;
    const peak = (stats: FaultStats) => Math.max(...stats.perSecond.map(({ requests }) => requests));
    const problems = [
      ...(calm.labels === faulty.labels ? [] : ['the labels differ']),
      ...(callRatio <= MAX_CALLS ? [] : [`${callRatio.toFixed(2)} calls a label, allowed ${MAX_CALLS}`]),
      ...(peak(faulty.stats) <= MAX_PEAK * peak(calm.stats)
        ? []
        : [`${peak(faulty.stats)} requests in one second, the calm run had at most ${peak(calm.stats)}`]),
    ];
    mkdirSync(dirname(options.plot), { recursive: true });
    writeFileSync(options.plot, ratePlot(calm.stats, faulty.stats));
    console.log(
      `faults: ${Object.entries(faulty.stats.faults)
        .map(([kind, count]) => `${kind} ${count}`)
        .join(', ')}`,
    );
    console.log(
      `calm ${calm.seconds.toFixed(1)} s, with faults ${faulty.seconds.toFixed(1)} s; rates: ${options.plot}`,
    );
    for (const problem of problems) console.log(`FAILED: ${problem}`);
    console.log(
      JSON.stringify({
        name: 'label-server',
        pairs,
        sameLabels: calm.labels === faulty.labels,
        callRatio: Number(callRatio.toFixed(3)),
        faultShare: Number(
          (Object.values(faulty.stats.faults).reduce((a, b) => a + b, 0) / faulty.stats.requests).toFixed(3),
        ),
        unlabelled: faulty.totals.unlabelled,
        peakPerSecond: { calm: peak(calm.stats), faulty: peak(faulty.stats) },
        seconds: { calm: Number(calm.seconds.toFixed(1)), faulty: Number(faulty.seconds.toFixed(1)) },
      }),
    );
    return problems.length === 0 ? 0 : 1;
  } finally {
    await service.end();
    await children.end();
  }
}

main().then(
  (code) => process.exit(code),
  (error: unknown) => {
    console.error(error);
    process.exit(1);
  },
);
