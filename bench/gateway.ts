/**
 * Measures the latency that a gateway adds to a request, for this gateway, Portkey's (npm) and LiteLLM's (PyPI). All
 * are in front of the same stub model server, on one machine, and take turns. `added` is a percentile of the times
 * through the gateway minus the same percentile without it, in milliseconds. Bodies have 1 KB, 8 KB and 100 KB,
 * streamed and not; the result is the worst of the six. `rps` is at 8 connections with bodies of 1 KB, the median of
 * five turns of `--seconds`; load generator and stub share the cores. The last line is JSON. Among the targets is what
 * a program asks in place of a model server, the `capture` endpoint of a worker, without `rps`: an episode has a limit.
 *
 *     node dist/bench/gateway.js [--rounds 12] [--requests 60] [--seconds 2] [--warm-up 150] [--only whetstone,capture]
 *
 * `--before DIST` is the dist/ of an earlier commit's clone: its gateway takes its turns too, and `slowerPercent` says
 * for each cell how much longer a request through this one takes at the median, and how many fewer it answers.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { cpus, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { startCapture } from './gateway/capture-target';
import { type LoadRequest, measureThroughput, type Timing } from './gateway/load-generator';
import { startLiteLlm, startPortkey, startWhetstone, type Target } from './gateway/targets';
import { takeTurn } from './gateway/turn';
import { percentile } from './shared/percentile';
import { freePort, Processes, untilHealthy } from './shared/processes';

const SIZES = { '1KB': 1_000, '8KB': 8_000, '100KB': 100_000 } as const;

interface Options {
  rounds: number;
  /** Requests to each target in each round. */
  requests: number;
  /** Requests to each target before anything is timed. */
  warmUp: number;
  /** Length of a turn of the load at 8 connections. */
  seconds: number;
}

interface Cell {
  size: keyof typeof SIZES;
  isStream: boolean;
}

const CELLS: Cell[] = (Object.keys(SIZES) as Cell['size'][]).flatMap((size) =>
  [false, true].map((isStream) => ({ size, isStream })),
);

/** A request of this size, with its fields in the order of the official clients. */
function requestOf(target: Target, { size, isStream }: Cell): LoadRequest {
  const envelope = {
    messages: [{ role: 'user', content: '' }],
    model: target.model,
    temperature: 0.7,
    stream: isStream,
  };
  const room = SIZES[size] - JSON.stringify(envelope).length;
  const sentence = 'The customer asks whether the "express" order of last week can still be changed.\n';
  envelope.messages[0]!.content = sentence.repeat(Math.ceil(room / sentence.length)).slice(0, room);
  return { path: target.path, headers: target.headers, body: Buffer.from(JSON.stringify(envelope)) };
}

const SMALL: Cell = { size: '1KB', isStream: false };
const keyOf = ({ size, isStream }: Cell) => `${size}${isStream ? ' stream' : ''}`;
const round = (value: number, digits = 3) => Number(value.toFixed(digits));

/** Times of all targets, cell by cell. In each round every target gets its turn, in an order that changes. */
async function latencies(
  targets: readonly Target[],
  { rounds, requests, warmUp }: Options,
): Promise<Map<string, Timing[]>> {
  const found = new Map<string, Timing[]>();
  for (const cell of CELLS) {
    for (const target of targets) await takeTurn(target, requestOf(target, cell), cell.isStream, warmUp);
    for (let turn = 0; turn < rounds; turn++) {
      const order = targets.map((_, i) => targets[(i + turn) % targets.length]!);
      for (const target of order) {
        const timings = await takeTurn(target, requestOf(target, cell), cell.isStream, requests);
        const key = `${target.name} ${keyOf(cell)}`;
        found.set(key, [...(found.get(key) ?? []), ...timings]);
      }
    }
  }
  return found;
}

/** Turns that each target gets for its requests a second. */
const LOAD_TURNS = 5;

/** Requests a second of each target without episodes, by its name: the median of turns in an order that changes. */
async function throughputs(all: readonly Target[], { seconds }: Options): Promise<Map<string, number>> {
  const targets = all.filter(({ episodes }) => episodes === undefined);
  const found = new Map<string, number[]>();
  for (let turn = 0; turn < LOAD_TURNS; turn++) {
    for (const target of targets.map((_, i) => targets[(i + turn) % targets.length]!)) {
      const load = await measureThroughput(target.origin, requestOf(target, SMALL), false, 8, seconds);
      if (load.failed > 0) throw new Error(`${target.name} failed ${load.failed} requests under load.`);
      found.set(target.name, [...(found.get(target.name) ?? []), load.rps]);
    }
  }
  return new Map([...found].map(([name, turns]) => [name, Math.round(percentile(turns, 0.5))]));
}

interface Added {
  p50: number;
  p99: number;
  firstByteP50: number;
}

/** Targets of this project. */
const OWN = ['whetstone', 'capture'];

/** Null for a peer whose answers in this cell are wrong. Throws when those of this project are. */
function added(found: ReadonlyMap<string, Timing[]>, target: Target, cell: Cell): Added | null {
  const own = found.get(`${target.name} ${keyOf(cell)}`) ?? [];
  const direct = found.get(`direct ${keyOf(cell)}`) ?? [];
  const bad = own.filter(({ ok }) => !ok).length;
  if (bad > 0) {
    const text = `${target.name} answered ${bad} of ${own.length} requests wrongly (${keyOf(cell)})`;
    if (OWN.includes(target.name)) throw new Error(`${text}.`);
    console.log(`${text}: left out`);
    return null;
  }
  const difference = (of: (timing: Timing) => number, share: number) =>
    percentile(own.map(of), share) - percentile(direct.map(of), share);
  return {
    p50: round(difference(({ total }) => total, 0.5)),
    p99: round(difference(({ total }) => total, 0.99)),
    firstByteP50: round(difference(({ firstByte }) => firstByte, 0.5)),
  };
}

async function measure(targets: readonly Target[], options: Options): Promise<Record<string, unknown>> {
  const found = await latencies(targets, options);
  const loads = await throughputs(targets, options);
  const results: Record<string, Record<string, unknown>> = { direct: { rps: loads.get('direct') } };
  for (const target of targets.filter(({ name }) => name !== 'direct')) {
    const rps = loads.get(target.name);
    const cells = CELLS.flatMap((cell) => {
      const figures = added(found, target, cell);
      return figures === null ? [] : [[keyOf(cell), figures] as const];
    });
    for (const [key, { p50, p99, firstByteP50 }] of cells) {
      console.log(
        `${target.name.padEnd(10)} ${key.padEnd(13)} added p50 ${p50.toFixed(3)} ms, p99 ${p99.toFixed(3)} ms, ` +
          `first byte p50 ${firstByteP50.toFixed(3)} ms`,
      );
    }
    if (rps !== undefined) console.log(`${target.name.padEnd(10)} ${rps} requests/s at 8 connections`);
    const worst = (of: (cell: Added) => number) => Math.max(...cells.map(([, cell]) => of(cell)));
    results[target.name] = {
      addedP50Ms: worst(({ p50 }) => p50),
      addedP99Ms: worst(({ p99 }) => p99),
      addedFirstByteP50Ms: worst(({ firstByteP50 }) => firstByteP50),
      ...(rps !== undefined && { rps }),
      cells: Object.fromEntries(cells),
    };
  }
  const { whetstone, ...others } = results;
  const before = loads.get('before');
  const fewer = before === undefined ? 0 : round((1 - loads.get('whetstone')! / before) * 100, 1);
  const slowerPercent = before === undefined ? {} : { slowerPercent: { ...compare(found), rps: fewer } };
  return { name: 'gateway', cores: cpus().length, ...whetstone, ...others, ...slowerPercent };
}

/** By cell, in percent: how much longer this gateway takes at the median than the earlier one. */
function compare(found: ReadonlyMap<string, Timing[]>): Record<string, { p50: number; firstByteP50: number }> {
  const slower = (cell: Cell, of: (timing: Timing) => number) => {
    const median = (name: string) => percentile((found.get(`${name} ${keyOf(cell)}`) ?? []).map(of), 0.5);
    return round((median('whetstone') / median('before') - 1) * 100, 1);
  };
  return Object.fromEntries(
    CELLS.map((cell) => [
      keyOf(cell),
      { p50: slower(cell, ({ total }) => total), firstByteP50: slower(cell, ({ firstByte }) => firstByte) },
    ]),
  );
}

async function main(): Promise<void> {
  const string = (fallback: string) => ({ type: 'string', default: fallback }) as const;
  const { values } = parseArgs({
    options: {
      rounds: string('12'),
      requests: string('60'),
      seconds: string('2'),
      'warm-up': string('150'),
      only: string('whetstone,capture,portkey,litellm'),
      before: { type: 'string' },
    },
  });
  const options = {
    rounds: Number(values.rounds),
    requests: Number(values.requests),
    seconds: Number(values.seconds),
    warmUp: Number(values['warm-up']),
  };
  const chosen = values.only.split(',');
  const folder = await mkdtemp(join(tmpdir(), 'whet-bench-gateway-'));
  const processes = new Processes();
  try {
    const port = await freePort();
    const stub = `http://127.0.0.1:${port}`;
    processes.start(process.execPath, [join(__dirname, 'gateway', 'stub-model-server.js'), String(port)]);
    await untilHealthy(`${stub}/v1/models`, 10);
    const targets: Target[] = [
      { name: 'direct', origin: stub, path: '/v1/chat/completions', headers: {}, model: 'bench-base' },
    ];
    const own = (name: string, dist: string) =>
      startWhetstone(name, dist, stub, join(folder, name), processes).then((target) => targets.push(target));
    if (chosen.includes('whetstone')) await own('whetstone', join(__dirname, '..'));
    if (values.before !== undefined) await own('before', resolve(values.before));
    if (chosen.includes('capture')) targets.push(await startCapture(stub, processes));
    if (chosen.includes('portkey')) targets.push(await startPortkey(stub, processes));
    if (chosen.includes('litellm')) targets.push(await startLiteLlm(stub, processes));
    console.log(JSON.stringify(await measure(targets, options)));
  } finally {
    await processes.end();
    await rm(folder, { recursive: true, force: true });
  }
}

main().catch((error: unknown) => {
  console.error(error);
  process.exitCode = 1;
});
