/**
 * Measures what the fan-out of labelling costs. It labels pairs through the real plan, `labelChunks` workflow, Temporal
 * server and worker process, and asks about the same pairs with a bare `openai` client at the same concurrency. Both
 * ask the same stub provider, which has 200 ms latency. They take turns, each time in fresh processes. The last line is
 * JSON.
 *
 *     node dist/bench/label.js [--calls 20000] [--concurrency 64,256,512] [--latency-ms 200] [--padding 2000] [--rounds
 *     N]
 */
import { parseArgs } from 'node:util';
import type { LabelChunkResult } from '../contracts/messages/identify-stage';
import { bareSeconds, type BareClientOptions } from './label/bare-client';
import { CANDIDATES, LabellingService } from './label/labelling-service';
import { freePort, Processes, untilAnswers } from './shared/processes';
import { serveProvider } from './label/stub-provider';

interface Options {
  calls: number;
  concurrency: number[];
  latencyMs: number;
  /** Characters of the tool result in each trajectory. */
  padding: number;
  /**
   * Turns of bare client and worker at each concurrency; their medians are compared. Null: as many as make about a
   * minute, at most 5.
   */
  rounds: number | null;
}

interface Turn {
  seconds: number;
  planSeconds: number;
  calls: number;
  events: number;
  largestHistory: number;
  rssMb: number;
}

/** One labelling run in a fresh worker: from the plan's start to the workflow's result. */
async function oursOnce(
  service: LabellingService,
  runId: string,
  stubUrl: string,
  concurrency: number,
  options: Options,
): Promise<Turn> {
  service.startWorker();
  // An agent of its own, so that no label of an earlier turn is reused. The worker is up when it has planned something.
  await service.plan({ runId: `${runId}-warm`, agent: `${runId}-warm`, stubUrl, trajectories: 1, padding: 0 });
  const planned = await service.plan({
    runId,
    agent: runId,
    stubUrl,
    trajectories: options.calls / CANDIDATES.length,
    padding: options.padding,
    analyst: { concurrency },
  });
  const began = Date.now();
  const handle = await service.label(planned);
  const totals = (await handle.result()) as LabelChunkResult;
  const seconds = (Date.now() - began) / 1000 + planned.planSeconds;
  if (totals.asked !== planned.calls || totals.unlabelled > 0)
    throw new Error(`${runId}: not every pair was labelled: ${JSON.stringify(totals)}`);
  const rssMb = await service.workerRssMb();
  await service.stopWorker();
  const lengths = await service.historyLengths(runId);
  return {
    seconds,
    planSeconds: planned.planSeconds,
    calls: planned.calls,
    events: lengths.reduce((a, b) => a + b, 0),
    largestHistory: Math.max(...lengths),
    rssMb,
  };
}

/**
 * Number of turns. The shorter a turn is, the more other work on the machine disturbs it, so the more turns there are.
 */
function roundsOf({ rounds, calls, latencyMs }: Options, concurrency: number): number {
  if (rounds !== null) return rounds;
  const turnSeconds = (calls * latencyMs) / concurrency / 1000;
  return [1, 3, 5].find((count) => count * turnSeconds >= 35) ?? 5;
}

const median = (values: number[]): number => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] as number;

async function measure(options: Options): Promise<void> {
  const children = new Processes();
  const service = await LabellingService.start();
  try {
    const port = await freePort();
    const stubUrl = `http://127.0.0.1:${port}/v1`;
    children.start(process.execPath, [__filename, 'stub', `${port}`, `${options.latencyMs}`]);
    await untilAnswers(`http://127.0.0.1:${port}/stats`);
    const ratio: Record<string, number> = {};
    const turns: Turn[] = [];
    for (const concurrency of options.concurrency) {
      const [bare, ours]: [number[], Turn[]] = [[], []];
      for (let round = 0; round < roundsOf(options, concurrency); round++) {
        const peer: BareClientOptions = {
          stubUrl,
          trajectories: options.calls / CANDIDATES.length,
          padding: options.padding,
          concurrency,
        };
        bare.push(Number(await children.output(__filename, ['bare', JSON.stringify(peer)])));
        ours.push(await oursOnce(service, `label-${concurrency}-${round}`, stubUrl, concurrency, options));
        const turn = ours.at(-1) as Turn;
        console.log(
          `${concurrency} in flight: bare ${bare.at(-1)!.toFixed(2)} s, ` +
            `ours ${turn.seconds.toFixed(2)} s (plan ${turn.planSeconds.toFixed(2)} s), ` +
            `${turn.events} events, worker ${turn.rssMb.toFixed(0)} MB`,
        );
      }
      ratio[concurrency] = Number((median(ours.map(({ seconds }) => seconds)) / median(bare)).toFixed(3));
      turns.push(...ours);
    }
    const eventsPerCall = Math.max(...turns.map(({ events, calls }) => events / calls));
    console.log(
      JSON.stringify({
        name: 'label',
        ratio,
        eventsPerCall: Number(eventsPerCall.toFixed(4)),
        calls: options.calls,
        latencyMs: options.latencyMs,
        largestHistory: Math.max(...turns.map(({ largestHistory }) => largestHistory)),
        workerRssMb: Math.round(Math.max(...turns.map(({ rssMb }) => rssMb))),
      }),
    );
  } finally {
    await service.end();
    await children.end();
  }
}

async function main(): Promise<void> {
  const [mode, ...rest] = process.argv.slice(2);
  if (mode === 'stub') return serveProvider(Number(rest[0]), Number(rest[1]));
  if (mode === 'bare') return console.log(await bareSeconds(JSON.parse(rest[0] as string) as BareClientOptions));
  const string = (fallback: string) => ({ type: 'string', default: fallback }) as const;
  const { values } = parseArgs({
    options: {
      calls: string('20000'),
      concurrency: string('64,256,512'),
      'latency-ms': string('200'),
      padding: string('2000'),
      rounds: { type: 'string' },
    },
  });
  const whole = (name: string, text: string): number => {
    const value = Number(text);
    if (!Number.isInteger(value) || value < 1)
      throw new RangeError(`--${name} ${JSON.stringify(text)}: a whole number above 0.`);
    return value;
  };
  const concurrency = values.concurrency.split(',').map((text) => whole('concurrency', text));
  // Every trajectory is asked about every candidate, so the number is rounded up to a multiple.
  const calls = Math.ceil(whole('calls', values.calls) / CANDIDATES.length) * CANDIDATES.length;
  await measure({
    calls,
    concurrency,
    latencyMs: whole('latency-ms', values['latency-ms']),
    padding: whole('padding', values.padding),
    rounds: values.rounds === undefined ? null : whole('rounds', values.rounds),
  });
}

main().catch((error: unknown) => {
  console.error(error);
  process.exitCode = 1;
});
