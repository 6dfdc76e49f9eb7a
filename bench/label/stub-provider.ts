/**
 * A stub provider for measurements, in a process of its own. It answers every label call after `latencyMs`, from the
 * words of the episode. `GET /stats` answers with its ProviderStats.
 */
import { createServer } from 'node:http';
import { syntheticAnswer } from '../../test/fakes/synthetic-episodes';
import type { FakeAnalystBody } from '../../test/fakes/analyst-endpoint';

/** What `GET /stats` answers. */
export interface ProviderStats {
  calls: number;
  /** Calls whose Idempotency-Key was seen before: the same question asked, and billed, again. */
  repeated: number;
  /** Most calls that were under way at one time. */
  mostAtOnce: number;
}

/** Serves on the port until the process ends. */
export function serveProvider(port: number, latencyMs: number): void {
  const stats: ProviderStats = { calls: 0, repeated: 0, mostAtOnce: 0 };
  /** First 12 hex digits of each key: a million whole keys would be 100 MB. */
  const seen = new Set<number>();
  let running = 0;
  const server = createServer((message, response) => {
    const parts: Buffer[] = [];
    message.on('data', (part: Buffer) => parts.push(part));
    message.on('end', () => {
      if (message.method === 'GET') {
        response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(stats));
        return;
      }
      const key = message.headers['idempotency-key'];
      if (typeof key === 'string') {
        const short = Number.parseInt(key.slice(0, 12), 16);
        if (seen.has(short)) stats.repeated++;
        seen.add(short);
      }
      stats.calls++;
      stats.mostAtOnce = Math.max(stats.mostAtOnce, ++running);
      const body = JSON.parse(Buffer.concat(parts).toString('utf8')) as FakeAnalystBody;
      const answer = completion(body);
      setTimeout(() => {
        running--;
        response
          .writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(answer) })
          .end(answer);
      }, latencyMs);
    });
  });
  server.keepAliveTimeout = 600_000;
  server.listen(port, '127.0.0.1', 4096);
}

function completion(body: FakeAnalystBody): string {
  const answer = syntheticAnswer({ path: '', headers: {}, body }) as { content: string };
  return JSON.stringify({
    id: 'stub',
    object: 'chat.completion',
    created: 0,
    model: body.model,
    choices: [
      {
        index: 0,
        message: { role: 'assistant', content: answer.content, refusal: null },
        logprobs: null,
        finish_reason: 'stop',
      },
    ],
    usage: {
      prompt_tokens: 100,
      completion_tokens: 10,
      total_tokens: 110,
      prompt_tokens_details: { cached_tokens: 80 },
    },
  });
}
