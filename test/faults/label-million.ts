/**
 * `node dist/test/faults/label-million.js --calls 1000000`: labels very many pairs in one run, with SIGKILL for the
 * worker in the middle, in front of a stub with little latency. Every label must be what the episode says, no history
 * may be long, the worker must stay small, and what is asked twice may not be more than what was under way. Exit code 1
 * when one of these does not hold. The last line is JSON.
 *
 *     node dist/test/faults/label-million.js [--calls 20000] [--concurrency 256] [--latency-ms 20] [--padding 200]
 *     [--kills 1]
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { labelSegments, readLabels } from '../helpers/label-segments';
import { CANDIDATES, LabellingService } from '../../bench/label/labelling-service';
import { ended, freePort, Processes, untilAnswers } from '../../bench/shared/processes';
import { serveProvider, type ProviderStats } from '../../bench/label/stub-provider';
import type { LabelChunkResult } from '../../contracts/messages/identify-stage';
import type { ArtifactStore } from '../../store';
import { syntheticEpisode, trueLabel } from '../fakes/synthetic-episodes';

const MAX_EVENTS = 2_000;
const MAX_RSS_MB = 1_024;
const RUN = 'million';

interface Options {
  calls: number;
  concurrency: number;
  latencyMs: number;
  padding: number;
  kills: number;
}

const statsOf = async (port: number) => (await (await fetch(`http://127.0.0.1:${port}/stats`)).json()) as ProviderStats;

/** Compares every label in the store with what the episodes say. */
async function check(
  store: ArtifactStore,
  trajectories: number,
): Promise<{ labels: number; twice: number; wrong: number }> {
  const indices = new Map(Array.from({ length: trajectories }, (_, i) => [syntheticEpisode(i, 0).id.slice(0, 16), i]));
  const skills = new Map(CANDIDATES.map(({ id, name }, i) => [id, { name, bit: 1 << i }]));
  const seen = new Uint8Array(trajectories);
  const result = { labels: 0, twice: 0, wrong: 0 };
  for (const segment of await labelSegments(store, RUN)) {
    for (const { label } of await readLabels(store, segment)) {
      const index = indices.get(label.trajectoryId.slice(0, 16)) as number;
      const { name: skill, bit } = skills.get(label.capabilityId) as { name: string; bit: number };
      if ((seen[index]! & bit) !== 0) result.twice++;
      else result.labels++;
      seen[index]! |= bit;
      if (label.label !== trueLabel(index, skill)) result.wrong++;
    }
  }
  return result;
}

async function measure(options: Options): Promise<number> {
  const children = new Processes();
  const service = await LabellingService.start();
  try {
    const port = await freePort();
    children.start(process.execPath, [__filename, 'stub', `${port}`, `${options.latencyMs}`]);
    await untilAnswers(`http://127.0.0.1:${port}/stats`);
    const trajectories = Math.ceil(options.calls / CANDIDATES.length);
    service.startWorker();
    const stubUrl = `http://127.0.0.1:${port}/v1`;
    const planned = await service.plan({
      runId: RUN,
      agent: RUN,
      stubUrl,
      trajectories,
      padding: options.padding,
      analyst: { concurrency: options.concurrency },
    });
    console.log(
      `planned ${planned.calls} labels in ${planned.labelling.plan.chunks} chunks, ${planned.planSeconds.toFixed(1)} s`,
    );
    const began = Date.now();
    const handle = await service.label(planned);
    const rss: number[] = [];
    for (let kill = 1; kill <= options.kills; kill++) {
      while ((await statsOf(port)).calls < (planned.calls * kill) / (options.kills + 1)) await sleep(100);
      rss.push(await service.workerRssMb());
      const victim = service.worker!;
      victim.kill('SIGKILL');
      await ended(victim);
      const { calls } = await statsOf(port);
      console.log(
        `SIGKILL after ${calls} calls, ${((Date.now() - began) / 1000).toFixed(0)} s, worker at ` +
          `${rss.at(-1)?.toFixed(0)} MB`,
      );
      service.startWorker();
    }
    const totals = (await handle.result()) as LabelChunkResult;
    const seconds = (Date.now() - began) / 1000;
    rss.push(await service.workerRssMb());
    const stats = await statsOf(port);
    const lengths = await service.historyLengths(RUN);
    const events = lengths.reduce((a, b) => a + b, 0);
    await service.stopWorker();
    const { labels, twice, wrong } = await check(service.store, trajectories);
    const largestHistory = Math.max(...lengths);
    const workerRssMb = Math.round(Math.max(...rss));
    const problems = [
      ...(totals.asked === planned.calls && totals.unlabelled === 0 ? [] : [`counts are ${JSON.stringify(totals)}`]),
      ...(labels === planned.calls && wrong === 0
        ? []
        : [`${labels} labels are in the store, ${wrong} of them are wrong`]),
      ...(stats.repeated <= options.kills * options.concurrency
        ? []
        : [`${stats.repeated} calls were made twice, ${options.concurrency} were under way at a kill`]),
      ...(largestHistory <= MAX_EVENTS ? [] : [`a history has ${largestHistory} events`]),
      ...(workerRssMb <= MAX_RSS_MB ? [] : [`the worker had ${workerRssMb} MB`]),
    ];
    for (const problem of problems) console.log(`FAILED: ${problem}`);
    console.log(
      JSON.stringify({
        name: 'label-million',
        labels,
        wrong,
        storedTwice: twice,
        calledTwice: stats.repeated,
        kills: options.kills,
        concurrency: options.concurrency,
        histories: lengths.length,
        largestHistory,
        eventsPerCall: Number((events / planned.calls).toFixed(4)),
        workerRssMb,
        seconds: Math.round(seconds),
        callsPerSecond: Math.round(planned.calls / seconds),
      }),
    );
    return problems.length === 0 ? 0 : 1;
  } finally {
    await service.end();
    await children.end();
  }
}

async function main(): Promise<number> {
  if (process.argv[2] === 'stub') {
    serveProvider(Number(process.argv[3]), Number(process.argv[4]));
    return new Promise(() => undefined);
  }
  const string = (fallback: string) => ({ type: 'string', default: fallback }) as const;
  const { values } = parseArgs({
    options: {
      calls: string('20000'),
      concurrency: string('256'),
      'latency-ms': string('20'),
      padding: string('200'),
      kills: string('1'),
    },
  });
  return measure({
    calls: Number(values.calls),
    concurrency: Number(values.concurrency),
    latencyMs: Number(values['latency-ms']),
    padding: Number(values.padding),
    kills: Number(values.kills),
  });
}

main().then(
  (code) => process.exit(code),
  (error: unknown) => {
    console.error(error);
    process.exit(1);
  },
);
