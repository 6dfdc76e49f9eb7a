import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A request as the fake endpoint saw it. */
export interface FakeAnalystRequest {
  path: string;
  headers: IncomingHttpHeaders;
  body: FakeAnalystBody;
}

/** The parts of a chat completion request that answers depend on. */
export interface FakeAnalystBody {
  model: string;
  messages: { role: string; content: string }[];
  max_completion_tokens?: number;
  response_format?: { type: string; json_schema: { name: string; strict: boolean; schema: Record<string, unknown> } };
}

/**
 * What the fake answers: a completion with this content, or a bare HTTP response. `hang` never answers; a function
 * answers in its own way.
 */
export type FakeAnalystAnswer =
  | {
      content: string;
      finish?: string;
      refusal?: string;
      usage?: { prompt: number; completion: number; cached: number };
    }
  | { status: number; headers?: Record<string, string>; error?: Record<string, unknown> }
  | ((response: ServerResponse) => void)
  | 'hang';

/**
 * A fake OpenAI-compatible endpoint. It is the boundary at which tests replace the model: everything on our side of it
 * is real.
 */
export interface FakeAnalyst {
  /** Base URL with /v1. */
  url: string;
  requests: FakeAnalystRequest[];
  close(): Promise<void>;
}

/** Starts the fake; `respond` gives the answer to each request, numbered from 0. `record: false` keeps no requests. */
export async function startFakeAnalyst(
  respond: (request: FakeAnalystRequest, index: number) => FakeAnalystAnswer | Promise<FakeAnalystAnswer>,
  options: { port?: number; record?: boolean } = {},
): Promise<FakeAnalyst> {
  const requests: FakeAnalystRequest[] = [];
  let served = 0;
  const server = createServer((message, response) => {
    if (message.method === 'GET') {
      response.writeHead(200, { 'content-type': 'application/json' }).end('{"data":[{"id":"m-1"}]}');
      return;
    }
    const parts: Buffer[] = [];
    message.on('data', (part: Buffer) => parts.push(part));
    message.on('end', () => {
      const request: FakeAnalystRequest = {
        path: message.url ?? '',
        headers: message.headers,
        body: JSON.parse(Buffer.concat(parts).toString('utf8')) as FakeAnalystBody,
      };
      if (options.record !== false) requests.push(request);
      void Promise.resolve(respond(request, served++)).then((answer) => {
        if (answer === 'hang') return;
        if (typeof answer === 'function') return answer(response);
        const [status, headers, body] =
          'status' in answer
            ? [answer.status, answer.headers ?? {}, { error: answer.error ?? { message: `status ${answer.status}` } }]
            : [200, {}, completion(request.body.model, answer)];
        response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
      });
    });
  });
  server.keepAliveTimeout = 120_000;
  await new Promise<void>((resolve) => server.listen(options.port ?? 0, '127.0.0.1', resolve));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`, requests, close: () => close(server) };
}

function completion(model: string, answer: Extract<FakeAnalystAnswer, { content: string }>) {
  const usage = answer.usage ?? { prompt: 100, completion: 10, cached: 0 };
  return {
    id: 'stub',
    object: 'chat.completion',
    created: 0,
    model,
    choices: [
      {
        index: 0,
        message: { role: 'assistant', content: answer.content, refusal: answer.refusal ?? null },
        logprobs: null,
        finish_reason: answer.finish ?? 'stop',
      },
    ],
    usage: {
      prompt_tokens: usage.prompt,
      completion_tokens: usage.completion,
      total_tokens: usage.prompt + usage.completion,
      prompt_tokens_details: { cached_tokens: usage.cached },
    },
  };
}

async function close(server: Server): Promise<void> {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
}
