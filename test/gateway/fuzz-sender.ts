/**
 * A process that sends requests for `fuzz-servers`: odd cases, or what an ordinary client asks. It is one of its own,
 * so that neither the time nor the memory of the servers is that of their clients.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';

/** Cases sent at once. */
const AT_ONCE = 8;

/** A server that gets the cases. */
interface FuzzTarget {
  where: string;
  url: string;
  /** What it calls its model. */
  model: string;
}
interface CasesOrder {
  kind: 'cases';
  targets: readonly FuzzTarget[];
  /** Null: ordinary requests in the place of odd ones. */
  seed: number | null;
  from: number;
  to: number;
  /** Cases that begin in a second; null: as many as the servers answer. */
  perSecond: number | null;
}
interface ClientOrder {
  kind: 'client';
  url: string;
  /** Null: until it is told that it is over. */
  requests: number | null;
}
type Order = CasesOrder | ClientOrder;
interface Done {
  /** Of a client, in milliseconds. */
  times: number[];
  findings: Finding[];
  /** Number of answers by server and status. */
  statuses: Record<string, number>;
}

/** Such a process, seen from the one that starts it. */
export class FuzzSender {
  private readonly child: ChildProcess = fork(__filename);

  /** Carries out an order. @throws when the process ends. */
  async carryOut(order: Order): Promise<Done> {
    this.child.send(order);
    const ended = once(this.child, 'exit').then(() => Promise.reject(new Error('A sending process has ended.')));
    const [done] = (await Promise.race([once(this.child, 'message'), ended])) as [Done];
    return done;
  }

  /** Ends a client that was told no number of requests. */
  over(): void {
    this.child.send('over');
  }

  stop(): void {
    this.child.kill();
  }
}

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

/** An answer that no client should get. */
export interface Finding {
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

class Cases {
  readonly findings: Finding[] = [];
  readonly statuses: Record<string, number> = {};

  /** Sends the cases `from` to `to`. Each is made from its own number, so that one can be repeated. */
  async send({ targets, seed, from, to, perSecond }: CasesOrder): Promise<void> {
    let next = from;
    const began = performance.now();
    const worker = async () => {
      while (next < to) {
        const number = next++;
        if (perSecond !== null) await sleep(began + ((number - from) / perSecond) * 1_000 - performance.now());
        for (const { where, url, model } of targets) {
          const body = seed === null ? ordinaryBody(model) : oddBody(randomFrom(seed * 1e6 + number), model);
          await this.one(where, url, body);
        }
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

const ordinaryBody = (model: string): string =>
  JSON.stringify({ model, messages: [{ role: 'user', content: 'put item 7' }], max_tokens: 2, seed: 1 });

/** Times of a client that asks something ordinary, one request after the other, until `isOver`, in milliseconds. */
async function ordinaryClient(url: string, isOver: (count: number) => boolean): Promise<number[]> {
  const times: number[] = [];
  const body = ordinaryBody('desk@base');
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

/** Carries out one order after the other; `over` ends a client that was told no number of requests. */
function obey(): void {
  let over = false;
  const carryOut = async (order: Order): Promise<Done> => {
    if (order.kind === 'client') {
      over = false;
      const times = await ordinaryClient(order.url, (count) =>
        order.requests === null ? over : count === order.requests,
      );
      return { times, findings: [], statuses: {} };
    }
    const cases = new Cases();
    await cases.send(order);
    return { times: [], findings: cases.findings, statuses: cases.statuses };
  };
  process.on('message', (order: Order | 'over') => {
    if (order === 'over') over = true;
    else
      void carryOut(order).then(
        (done) => process.send!(done),
        (error: unknown) => {
          console.error(error);
          process.exit(1);
        },
      );
  });
}

if (require.main === module) obey();
