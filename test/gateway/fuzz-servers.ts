/**
 * Sends the same odd requests to a gateway and to the policy server behind it: duplicate and escaped keys, numbers at
 * the edge, depth, size. Fails on a 5xx, an answer that is not in OpenAI's format, a model server that was ready and is
 * not, or memory that grew: `node dist/test/gateway/fuzz-servers.js [--cases 1000] [--seed 1]`. The last line is the
 * result as JSON, with the times of another client before and meanwhile.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { percentile } from '../../bench/shared/percentile';
import { makeModel, PolicyServer } from './clients/policy-server';
import { GatewayFixture } from './gateway-fixture';

/** Growth of memory that is allowed, as a factor. */
const MEMORY_GROWTH = 1.2;
/** Cases sent at once. */
const AT_ONCE = 8;
/** Share of the cases that come before memory is measured for the first time, so that heaps and caches are filled. */
const WARM_UP = 0.2;

type Random = () => number;

/** Numbers in [0, 1) from a seed (mulberry32). */
function randomFrom(seed: number): Random {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

const pick = <T>(random: Random, values: readonly T[]): T => values[Math.floor(random() * values.length)] as T;

const NUMBERS = [
  ...['0', '-0', '-0.0', '1', '-1', '0.5', '1e-5', '1e-38', '1e-45', '1e-300', '5e-324', '1e-400', '1e400', '-1e400'],
  ...['2', '2.0000001', '53', '9007199254740991', '9007199254740993', '9223372036854775807', '9223372036854775808'],
  ...[
    '18446744073709551616',
    '1e308',
    '1e309',
    '9'.repeat(400),
    '9'.repeat(5_000),
    'NaN',
    'Infinity',
    '01',
    '1.',
    '+1',
  ],
];
const OTHERS = [
  'null',
  'true',
  'false',
  '""',
  '"x"',
  '[]',
  '{}',
  '[[]]',
  '{"a":1}',
  '"\\ud800"',
  '"\\u0000"',
  '"<|im_end|>"',
];
const NUMERIC = [
  ...[
    'temperature',
    'top_p',
    'max_tokens',
    'max_completion_tokens',
    'n',
    'seed',
    'presence_penalty',
    'frequency_penalty',
  ],
  ...['logprobs', 'top_logprobs', 'stream', 'stream_options', 'logit_bias', 'stop', 'tools', 'tool_choice', 'user'],
  ...['structured_outputs', 'messages', 'model', 'response_format', 'metadata', '__proto__', 'constructor'],
];
const CHOICES = [
  '["A","B"]',
  '["A"]',
  '["A","AA"]',
  '["<|im_end|>","A"]',
  '[]',
  '[""]',
  '["A",5]',
  `["${'a'.repeat(9_000)}"]`,
];

/** A key with some of its letters as escapes. */
const escaped = (random: Random, key: string): string =>
  [...key]
    .map((letter) => {
      if (random() > 0.4) return letter;
      const code = letter.charCodeAt(0).toString(16).padStart(4, '0');
      return `\\u${random() < 0.5 ? code : code.toUpperCase()}`;
    })
    .join('');

function text(random: Random): string {
  const size = Math.floor(10 ** (random() * 4.5));
  return pick(random, [
    () => 'put item 7 on shelf b '.repeat(1 + size / 22),
    () => 'a'.repeat(size),
    () => ' '.repeat(size),
    () => '<|im_start|>user\\n'.repeat(1 + size / 20),
    () => '\\u00e9\\ud83d\\ude00'.repeat(1 + size / 18),
    () => '"model"'.replaceAll('"', '\\"').repeat(1 + size / 9),
  ])();
}

function value(random: Random): string {
  const depth = Math.floor(10 ** (random() * 4));
  return pick(random, [
    () => pick(random, NUMBERS),
    () => pick(random, NUMBERS),
    () => pick(random, OTHERS),
    () => `"${text(random)}"`,
    () => '['.repeat(depth) + ']'.repeat(depth),
    () => '{"a":'.repeat(depth) + '1' + '}'.repeat(depth),
    () => `[${'[],'.repeat(depth)}[]]`,
    () => `{"choice":${pick(random, CHOICES)}}`,
  ])();
}

/** The text of a request's body. `model` is what the server calls its model. */
function oddBody(random: Random, model: string): string {
  const name = () => (random() < 0.2 ? escaped(random, 'model') : 'model');
  const content = random() < 0.3 ? text(random) : 'put item 7 on shelf b';
  const members = [
    `"${name()}":"${random() < 0.05 ? 'nobody' : model}"`,
    `"messages":[{"role":"${pick(random, ['user', 'system', 'tool', 'robot'])}","content":"${content}"}]`,
    '"max_tokens":3',
  ];
  for (let count = Math.floor(random() * 4); count > 0; count--) {
    const key = pick(random, NUMERIC);
    members.splice(
      Math.floor(random() * members.length),
      0,
      `"${random() < 0.2 ? escaped(random, key) : key}":${value(random)}`,
    );
  }
  if (random() < 0.15) members.push(`"${name()}":"${model}"`);
  if (random() < 0.1)
    members.push(`"structured_outputs":{"choice":${pick(random, CHOICES)}},"temperature":${pick(random, NUMBERS)}`);
  const body = `{${members.join(',')}}`;
  return random() < 0.03 ? body.slice(0, Math.floor(random() * body.length)) : body;
}

/** Resident memory of a process in bytes. */
function residentBytes(pid: number): number {
  const line = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'));
  return Number(line?.[1] ?? 0) * 1_024;
}

interface Finding {
  where: string;
  status: number;
  body: string;
  answer: string;
}

/** Whether an answer is one that a client can expect. */
function isProper(status: number, answer: string): boolean {
  if (status >= 500) return false;
  if (answer.startsWith('data: ')) return true;
  try {
    const parsed = JSON.parse(answer) as { error?: { message?: unknown } };
    return status === 200 || typeof parsed.error?.message === 'string';
  } catch {
    return false;
  }
}

class Fuzz {
  readonly findings: Finding[] = [];
  readonly statuses: Record<string, number> = {};

  constructor(
    private readonly targets: readonly { where: string; url: string; model: string }[],
    private readonly seed: number,
  ) {}

  /** Sends the cases `from` to `to`. Each is made from its own number, so that one can be repeated. */
  async send(from: number, to: number): Promise<void> {
    let next = from;
    const worker = async () => {
      while (next < to) {
        const number = next++;
        for (const { where, url, model } of this.targets)
          await this.one(where, url, oddBody(randomFrom(this.seed * 1e6 + number), model));
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, worker));
  }

  private async one(where: string, url: string, body: string): Promise<void> {
    let [status, answer] = [0, ''];
    try {
      const response = await fetch(`${url}/chat/completions`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body,
      });
      [status, answer] = [response.status, await response.text()];
    } catch (error) {
      answer = String(error);
    }
    const key = `${where} ${status}`;
    this.statuses[key] = (this.statuses[key] ?? 0) + 1;
    if (!isProper(status, answer) || status === 0)
      this.findings.push({ where, status, body: body.slice(0, 300), answer: answer.slice(0, 300) });
  }
}

/** Times of a client that asks something ordinary, one request after the other, until `isOver`. */
async function ordinaryClient(url: string, isOver: (count: number) => boolean): Promise<number[]> {
  const times: number[] = [];
  const body = JSON.stringify({
    model: 'desk@base',
    messages: [{ role: 'user', content: 'put item 7' }],
    max_tokens: 2,
    seed: 1,
  });
  while (!isOver(times.length)) {
    const began = performance.now();
    const response = await fetch(`${url}/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body,
    });
    await response.text();
    if (response.status !== 200) throw new Error(`An ordinary request was answered with ${response.status}.`);
    times.push(performance.now() - began);
  }
  return times;
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: { cases: { type: 'string', default: '1000' }, seed: { type: 'string', default: '1' } },
  });
  const cases = Number(values.cases);
  const folder = mkdtempSync(join(tmpdir(), 'whet-fuzz-'));
  makeModel(join(folder, 'model'), join(folder, 'adapter'));
  const policy = await PolicyServer.start(join(folder, 'model'), 'desk-base');
  const fixture = await new GatewayFixture().start({
    registry: { versions: [] },
    replicas: 0,
    agent: { replicas: [policy.url], traces: { sample: 1 } },
  });
  const replica = fixture.agent.replicas.all[0]!;
  const gatewayUrl = `${fixture.url}/v1`;
  const fuzz = new Fuzz(
    [
      { where: 'gateway', url: gatewayUrl, model: 'desk' },
      { where: 'policy server', url: policy.url, model: 'desk-base' },
    ],
    Number(values.seed),
  );
  const memory = () => ({ gateway: residentBytes(process.pid), policy: residentBytes(policy.pid) });
  const quiet = await ordinaryClient(gatewayUrl, (count) => count === 200);
  const cold = memory();
  const warmUp = Math.floor(cases * WARM_UP);
  await fuzz.send(0, warmUp);
  const { epoch } = replica;
  const before = memory();
  let over = false;
  const busy = ordinaryClient(gatewayUrl, () => over);
  await fuzz.send(warmUp, cases);
  over = true;
  const times = await busy;
  const after = memory();
  const ready = replica.ready && replica.epoch === epoch;
  const inMb = ({ gateway, policy }: typeof cold) => [gateway, policy].map((bytes) => Math.round(bytes / 1e6));
  const growth = { gateway: after.gateway / before.gateway, policy: after.policy / before.policy };
  for (const finding of fuzz.findings.slice(0, 20)) console.log(JSON.stringify(finding));
  const p99 = (list: number[]) => Number(percentile(list, 0.99).toFixed(1));
  console.log(
    JSON.stringify({
      name: 'fuzz-servers',
      cases,
      findings: fuzz.findings.length,
      statuses: fuzz.statuses,
      ready,
      growth,
      // Of the gateway (with the clients in its process) and of the policy server.
      residentMb: { cold: inMb(cold), warm: inMb(before), after: inMb(after) },
      quietP99Ms: p99(quiet),
      busyP99Ms: p99(times),
    }),
  );
  await fixture.stop();
  await policy.stop();
  rmSync(folder, { recursive: true, force: true });
  const grew = Math.max(growth.gateway, growth.policy) > MEMORY_GROWTH;
  process.exitCode = fuzz.findings.length === 0 && ready && !grew && fixture.errors.length === 0 ? 0 : 1;
}

main().catch((error: unknown) => {
  console.error(error);
  process.exitCode = 1;
});
