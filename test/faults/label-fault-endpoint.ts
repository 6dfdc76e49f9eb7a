import { createHash } from 'node:crypto';
import { createServer, type ServerResponse } from 'node:http';
import { syntheticAnswer } from '../fakes/synthetic-episodes';
import type { FakeAnalystBody } from '../fakes/analyst-endpoint';

/** Ways in which the endpoint fails; each line is as likely as the others. */
const FAULTS = [
  ['429', '429-retry-after'],
  ['500', '500'],
  ['reset', 'reset'],
  ['hang', 'hang'],
  ['cut', 'cut'],
  ['junk-page', 'junk-answer'],
] as const;
export type Fault = (typeof FAULTS)[number][number];

/** What `GET /stats` answers. */
export interface FaultStats {
  requests: number;
  faults: Partial<Record<Fault, number>>;
  /** By second since the first request. */
  perSecond: { requests: number; good: number }[];
}

const LATENCY_MS = 50;

/** Whether and how the n-th request with a key fails: a function of the seed, so that a measurement can be repeated. */
function faultOf(seed: number, key: string, attempt: number, share: number): Fault | null {
  const digest = createHash('sha256').update(`${seed}:${key}:${attempt}`).digest();
  const draw = digest.readUInt32BE(0) / 2 ** 32;
  return draw < share ? (FAULTS.flat()[digest.readUInt32BE(4) % (2 * FAULTS.length)] as Fault) : null;
}

/** A fake of the provider that fails; serves on the port until the process ends. */
export function serveFaults({ port, faults: share, seed }: { port: number; faults: number; seed: number }): void {
  const stats: FaultStats = { requests: 0, faults: {}, perSecond: [] };
  const attempts = new Map<string, number>();
  let began: number | null = null;
  const server = createServer((message, response) => {
    const parts: Buffer[] = [];
    message.on('data', (part: Buffer) => parts.push(part));
    message.on('end', () => {
      if (message.method === 'GET') {
        response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(stats));
        return;
      }
      began ??= Date.now();
      const second = Math.floor((Date.now() - began) / 1000);
      while (stats.perSecond.length <= second) stats.perSecond.push({ requests: 0, good: 0 });
      const key = String(message.headers['idempotency-key']);
      const attempt = (attempts.get(key) ?? 0) + 1;
      attempts.set(key, attempt);
      const fault = faultOf(seed, key, attempt, share);
      stats.requests++;
      stats.perSecond[second]!.requests++;
      if (fault === null) stats.perSecond[second]!.good++;
      else stats.faults[fault] = (stats.faults[fault] ?? 0) + 1;
      const answer = completion(JSON.parse(Buffer.concat(parts).toString('utf8')) as FakeAnalystBody, fault);
      setTimeout(() => respond(response, fault, answer), LATENCY_MS);
    });
  });
  server.keepAliveTimeout = 600_000;
  server.listen(port, '127.0.0.1', 4096);
}

function respond(response: ServerResponse, fault: Fault | null, answer: string): void {
  const send = (status: number, body: string, headers: Record<string, string> = {}) =>
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(body);
  const error = (message: string) => JSON.stringify({ error: { message } });
  switch (fault) {
    case '429':
      return void send(429, error('slow down'));
    case '429-retry-after':
      return void send(429, error('slow down'), { 'retry-after': '1' });
    case '500':
      return void send(500, error('oops'));
    case 'reset':
      return void response.socket?.resetAndDestroy();
    case 'hang':
      return;
    case 'cut':
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(answer) });
      response.write(answer.slice(0, answer.length / 2));
      return void setTimeout(() => response.socket?.destroy(), 5);
    case 'junk-page':
      return void send(200, '<html>502 Bad Gateway</html>', { 'content-type': 'text/html' });
    case 'junk-answer':
    case null:
      return void send(200, answer);
  }
}

function completion(body: FakeAnalystBody, fault: Fault | null): string {
  const { content } = syntheticAnswer({
    path: '',
    headers: {},
    body: { ...body, messages: body.messages.slice(0, 2) },
  }) as { content: string };
  const message = {
    role: 'assistant',
    content: fault === 'junk-answer' ? '{"reason":"the agent did well","label":"MAY' : content,
    refusal: null,
  };
  return JSON.stringify({
    id: 'stub',
    object: 'chat.completion',
    created: 0,
    model: body.model,
    choices: [{ index: 0, message, logprobs: null, finish_reason: 'stop' }],
    usage: {
      prompt_tokens: 100,
      completion_tokens: 10,
      total_tokens: 110,
      prompt_tokens_details: { cached_tokens: 80 },
    },
  });
}
