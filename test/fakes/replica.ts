import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A request as the fake model server saw it. */
export interface SeenRequest {
  path: string;
  headers: IncomingHttpHeaders;
  body: Record<string, unknown> & {
    model?: string;
    messages?: { role: string; content: string }[];
    stream?: boolean;
    structured_outputs?: { choice: string[] };
  };
  text: string;
}

/** Answers a request in its own way; false leaves it to the fake. */
export type Behaviour = (request: SeenRequest, response: ServerResponse) => boolean;

/** One server-sent event of a streamed completion. */
export const chunkEvent = (model: string, content: string): string => {
  const choices = [{ index: 0, delta: { content }, finish_reason: null }];
  return `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model, choices })}\n\n`;
};

/**
 * Fake of a model server's HTTP interface: OpenAI's API and vLLM's adapter calls. It says which model answered, so that
 * a wrong adapter shows, and answers the router by the word after `need:` in the task.
 */
export class FakeReplica {
  readonly requests: SeenRequest[] = [];
  readonly adapters = new Set<string>();
  /** Order of adapter calls and probes, as `load x`, `probe x`, `unload x`. */
  readonly history: string[] = [];
  behaviour: Behaviour | null = null;
  /** Milliseconds until the router is answered. */
  routerDelayMs = 0;
  /** Requests whose client closed the connection before the answer's end. */
  aborted = 0;
  private server: Server | null = null;
  private port = 0;

  constructor(readonly baseModel = 'desk-base') {}

  /** Listens on the port it had before, else on `port`, else on a free one. */
  async start(port = 0): Promise<this> {
    const server = createServer((request, response) => {
      const parts: Buffer[] = [];
      request.on('data', (part: Buffer) => parts.push(part));
      response.on('close', () => {
        if (!response.writableFinished) this.aborted += 1;
      });
      request.on('end', () => {
        const text = Buffer.concat(parts).toString('utf8');
        this.answer(
          {
            path: request.url ?? '',
            headers: request.headers,
            text,
            body: text === '' ? {} : (JSON.parse(text) as SeenRequest['body']),
          },
          response,
        );
      });
    });
    await new Promise<void>((resolve) => server.listen(this.port || port, '127.0.0.1', resolve));
    this.port = (server.address() as AddressInfo).port;
    this.server = server;
    return this;
  }

  /** Goes away as a killed process does: connections break, adapters are forgotten. */
  async stop(): Promise<void> {
    const { server } = this;
    this.server = null;
    this.adapters.clear();
    if (server === null) return;
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    server.closeAllConnections();
    await closed;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}/v1`;
  }

  /** Completions that clients asked for: neither probes nor the router's calls. */
  completions(): SeenRequest[] {
    return this.requests.filter(({ path, body }) => path.endsWith('completions') && body.max_tokens !== 1);
  }

  routerCalls(): SeenRequest[] {
    return this.requests.filter(({ body }) => body.structured_outputs !== undefined);
  }

  private answer(request: SeenRequest, response: ServerResponse): void {
    const { path, body } = request;
    if (path === '/v1/models')
      return send(response, 200, { object: 'list', data: [this.baseModel, ...this.adapters].map((id) => ({ id })) });
    const name = String(body['lora_name']);
    if (path === '/v1/load_lora_adapter') {
      this.history.push(`load ${name}`);
      this.adapters.add(name);
      return send(response, 200, {});
    }
    if (path === '/v1/unload_lora_adapter') {
      this.history.push(`unload ${name}`);
      this.adapters.delete(name);
      return send(response, 200, {});
    }
    this.requests.push(request);
    const model = body.model ?? '';
    const isProbe = body.max_tokens === 1 && body.structured_outputs === undefined;
    if (isProbe) this.history.push(`probe ${model}`);
    if (!isProbe && this.behaviour?.(request, response) === true) return;
    if (model !== this.baseModel && !this.adapters.has(model)) {
      return send(response, 404, {
        error: {
          message: `The model \`${model}\` does not exist.`,
          type: 'NotFoundError',
          param: 'model',
          code: 'model_not_found',
        },
      });
    }
    if (body.structured_outputs !== undefined)
      return void setTimeout(() => send(response, 200, routerAnswer(body)), this.routerDelayMs);
    if (body.stream === true) return stream(response, model);
    send(response, 200, completion(model, 'hello'));
  }
}

export function send(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): void {
  response
    .writeHead(status, { 'content-type': 'application/json', ...headers })
    .end(typeof body === 'string' ? body : JSON.stringify(body));
}

export function completion(model: string, content: string): unknown {
  return {
    id: 'c',
    object: 'chat.completion',
    created: 1,
    model,
    choices: [{ index: 0, message: { role: 'assistant', content }, logprobs: null, finish_reason: 'stop' }],
    usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 },
  };
}

function stream(response: ServerResponse, model: string): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.write(chunkEvent(model, 'hel'));
  setTimeout(() => response.end(`${chunkEvent(model, 'lo')}data: [DONE]\n\n`), 5);
}

/** Nine tenths on the option whose summary holds the word after `need:`, the rest on the last one. */
function routerAnswer(body: SeenRequest['body']): unknown {
  const prompt = body.messages?.[0]?.content ?? '';
  const word = /need:(\w+)/.exec(prompt)?.[1] ?? 'none';
  const label = prompt
    .split('\n')
    .find((line) => /^[A-Z]: /.test(line) && line.includes(word))
    ?.at(0);
  const last = body.structured_outputs?.choice.at(-1) ?? 'A';
  const top =
    label === undefined || label === last
      ? [{ token: last, logprob: Math.log(0.95) }]
      : [
          { token: label, logprob: Math.log(0.8) },
          { token: last, logprob: Math.log(0.1) },
        ];
  return {
    choices: [
      {
        index: 0,
        message: { role: 'assistant', content: top[0]?.token },
        logprobs: { content: [{ ...top[0], top_logprobs: top }] },
        finish_reason: 'stop',
      },
    ],
  };
}
