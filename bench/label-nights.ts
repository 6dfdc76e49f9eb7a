/**
 * Measures whether the cost of labelling depends on how many nights an agent has behind it. It plans, labels and
 * tallies night after night in one store, with an analyst that answers at once, and compares what the last nights read
 * with what the second night and its successors read. In one series all trajectories are new, in the other half of them
 * are drawn from all earlier nights. The last line is JSON.
 *
 *     node dist/bench/label-nights.js [--nights 100] [--trajectories 400] [--padding 2000]
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { createIdentifyActivities } from '../activities/identify';
import type { PreparedSpec } from '../contracts/artifacts/prepared-spec';
import { agentSpecSchema } from '../contracts/config/agent-spec';
import type { Analyst, AnalystRequest } from '../llm';
import { layout, LocalStore, putJson, putLines } from '../store';
import { syntheticEpisode } from '../test/fakes/synthetic-episodes';
import { runActivity } from './identification-demo/identify-without-server';
import { CANDIDATES } from './label/labelling-service';
import { countingStore, type StoreReads } from './label-nights/counting-store';

const AGENT = 'desk';

interface Options {
  nights: number;
  /** Trajectories of a night. */
  trajectories: number;
  /** Characters of the tool result in each trajectory. */
  padding: number;
}

/** What one night cost: planning, labelling with its lookups, and apart from them the tally. */
interface Night extends StoreReads {
  asked: number;
  reused: number;
  /** Processor seconds of planning and labelling; other work on the machine does not count. */
  seconds: number;
  /** Reads and bytes of the tally, which collects the labels and files them. */
  tallyReads: number;
  tallyBytes: number;
  /** Seconds from the start to the end of the tally. */
  tallySeconds: number;
}

/** Answers every question at once. */
const analyst: Analyst = {
  model: 'stub',
  async ask<T>(request: AnalystRequest<T>) {
    const answer = {
      value: request.schema.parse({ reason: 'It shows.', step: null, label: 'PRESENT' }),
      usage: { promptTokens: 100, completionTokens: 10, cachedTokens: 80 },
      asks: 1,
      tries: 1,
      redacted: {},
      model: 'stub',
    };
    await request.keep?.(answer);
    return answer;
  },
  askBatch: () => Promise.reject(new Error('This bench asks online.')),
  flushUsage: () => Promise.resolve(),
};

/**
 * Numbers of the episodes of a night, of which `old` are drawn from those of all earlier nights. `played` has the
 * earlier ones and gets the new ones.
 */
function episodesOf(played: number[], trajectories: number, old: number): number[] {
  // A multiplicative step visits the earlier episodes in an order that looks random and is the same in each run.
  const drawn = new Set<number>();
  for (let i = 1; drawn.size < old; i++) drawn.add(played[(i * 7_919) % played.length] as number);
  const fresh = Array.from({ length: trajectories - old }, (_, i) => played.length + i);
  played.push(...fresh);
  return [...fresh, ...drawn].sort((a, b) => ((a * 31) % 1_009) - ((b * 31) % 1_009) || a - b);
}

async function labelNight(
  local: LocalStore,
  night: number,
  numbers: readonly number[],
  { padding }: Options,
): Promise<Night> {
  const runId = `night-${night}`;
  const context = {
    runId,
    agent: AGENT,
    spec: await putJson(local, layout.run(runId), 'spec.json', prepared()),
    seed: 1,
  };
  const episodes = numbers.map((index) => syntheticEpisode(index, padding));
  const trajectories = await putLines(local, layout.trajectories(runId), 'base.jsonl', episodes);
  const candidates = await putJson(local, layout.capabilities(runId), 'candidates.json', CANDIDATES);
  const use = { promptTokens: 0, completionTokens: 0, seconds: 0 };
  const counts = { episodes: episodes.length, successes: 0, failures: episodes.length };
  const { store, reads } = countingStore(local);
  const activities = createIdentifyActivities({ store, analyst: () => analyst });
  const began = process.cpuUsage();
  const collected = { trajectories, ...counts, ...use };
  const plan = await runActivity(activities.planLabels, { context, collected, candidates, run: 0 });
  const labelling = { context, plan, trajectories, candidates };
  let [asked, reused] = [0, 0];
  for (let chunk = 0; chunk < plan.chunks; chunk++) {
    const result = await runActivity(activities.labelChunk, { ...labelling, chunk });
    asked += result.asked;
    reused += result.reused;
  }
  const { user, system } = process.cpuUsage(began);
  const measured = { ...reads, asked, reused, seconds: (user + system) / 1e6 };
  const totals = { asked, reused, unlabelled: 0, promptTokens: 0, completionTokens: 0, cachedTokens: 0 };
  const tallyBegan = performance.now();
  await runActivity(activities.tallyRun, { ...labelling, run: 0, discovered: candidates, totals, previous: null });
  return {
    ...measured,
    tallyReads: reads.reads - measured.reads,
    tallyBytes: reads.bytes - measured.bytes,
    tallySeconds: (performance.now() - tallyBegan) / 1000,
  };
}

function prepared(): PreparedSpec {
  return {
    spec: agentSpecSchema.parse({
      version: 1,
      name: AGENT,
      environment: {
        path: 'none.py',
        trainSeeds: { start: 0, count: 1 },
        heldOutSeeds: { start: 1_000_000_000, count: 1 },
      },
      model: { name: 'base' },
      identify: { runs: 1, quorum: 1 },
    }),
    environmentPath: '/none.py',
    environmentSha256: '0'.repeat(64),
    modelBaseUrl: 'http://127.0.0.1:1/v1',
    modelPath: '/none',
    baseModelSha256: '0'.repeat(64),
    analyst: { baseUrl: 'http://127.0.0.1:1/v1', model: 'stub', displayName: 'stub' },
    sandbox: { mode: 'jail', detail: 'not used' },
  };
}

const median = (values: number[]): number => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] as number;

/** Last nights against the first ones from the second on, by median of a few, for each cost. */
function ratios(nights: readonly Night[]) {
  const few = Math.max(1, Math.min(5, Math.floor((nights.length - 1) / 2)));
  const ratio = (cost: keyof Night) => {
    const costs = nights.map((night) => night[cost]);
    return Number((median(costs.slice(-few)) / median(costs.slice(1, 1 + few))).toFixed(3));
  };
  return {
    reads: ratio('reads'),
    bytes: ratio('bytes'),
    seconds: ratio('seconds'),
    tallyReads: ratio('tallyReads'),
    tallyBytes: ratio('tallyBytes'),
    tallySeconds: ratio('tallySeconds'),
    asked: ratio('asked'),
  };
}

async function series(options: Options, isReusing: boolean) {
  const folder = await mkdtemp(join(tmpdir(), 'whet-nights-'));
  try {
    const store = new LocalStore(folder);
    const nights: Night[] = [];
    const played: number[] = [];
    for (let night = 1; night <= options.nights; night++) {
      const old = isReusing && night > 1 ? Math.floor(options.trajectories / 2) : 0;
      const numbers = episodesOf(played, options.trajectories, old);
      const cost = await labelNight(store, night, numbers, options);
      nights.push(cost);
      if (night <= 3 || night % 10 === 0 || night === options.nights)
        console.log(
          `night ${night}: ${cost.asked} asked, ${cost.reused} reused, ${cost.reads} reads, ` +
            `${(cost.bytes / 1e6).toFixed(2)} MB, ${cost.seconds.toFixed(2)} s; tally ${cost.tallyReads} reads, ` +
            `${(cost.tallyBytes / 1e6).toFixed(2)} MB, ${cost.tallySeconds.toFixed(2)} s`,
        );
    }
    return { ...ratios(nights), second: nights[1], last: nights.at(-1) };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      nights: { type: 'string', default: '100' },
      trajectories: { type: 'string', default: '400' },
      padding: { type: 'string', default: '2000' },
    },
  });
  const whole = (name: keyof typeof values, least: number): number => {
    const value = Number(values[name]);
    if (!Number.isInteger(value) || value < least)
      throw new RangeError(`--${name} ${JSON.stringify(values[name])}: a whole number, ${least} or more.`);
    return value;
  };
  const options = {
    nights: whole('nights', 3),
    trajectories: whole('trajectories', 2),
    padding: whole('padding', 1),
  };
  console.log('all trajectories new:');
  const fresh = await series(options, false);
  console.log('half of the trajectories from earlier nights:');
  const halfReused = await series(options, true);
  console.log(JSON.stringify({ name: 'label-nights', nights: options.nights, fresh, halfReused }));
}

main().catch((error: unknown) => {
  console.error(error);
  process.exitCode = 1;
});
