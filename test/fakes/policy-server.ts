import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** What a chat request looks like on the wire. */
export interface WireRequest {
  model: string;
  messages: { role: string; content: string | null }[];
  tools?: unknown[];
  seed: number;
  temperature: number;
  max_tokens: number;
  top_logprobs?: number;
  structured_outputs?: { choice: string[] };
}

/** What the fake's policy says to one request. */
export interface FakeAnswer {
  content?: string;
  reasoning?: string;
  /** The answer ended at the limit of tokens. */
  cut?: boolean;
  calls?: { name: string; arguments: Record<string, unknown> | string }[];
  /** Probabilities of labels at the first position. */
  labels?: Record<string, number>;
}

/**
 * Fake of the model provider's HTTP interface: OpenAI's chat completions and vLLM's adapter calls. It records
 * what it is asked. The answers come from a function of the request, so equal requests get equal answers, as from the
 * policy server.
 */
export class FakePolicyServer {
  readonly requests: WireRequest[] = [];
  readonly loads: { lora_name: string; lora_path: string }[] = [];
  readonly adapters = new Set<string>();
  /** Statuses for the next chat requests, instead of answers. */
  readonly failNext: { status: number; body?: unknown; headers?: Record<string, string> }[] = [];
  /** Asked about each chat request before the policy; a status stands in for the answer. */
  readonly interceptors: ((request: WireRequest) => { status: number; body: unknown } | null)[] = [];
  /** Answers a chat request in its own way; false leaves it to the fake. */
  behaviour: ((request: WireRequest, response: ServerResponse) => boolean) | null = null;
  /** Its list of models, in place of the usual one. */
  modelList: unknown = null;
  /** The hash of its weights, as Whetstone's policy server tells it. Null: it tells nothing, as other servers do. */
  weightsSha256: string | null = null;
  /** Where it says that it loaded the base model from, as vLLM does. */
  root: string | null = null;
  /** The key that it asks for; null: none. */
  apiKey: string | null = null;
  /** Milliseconds until an answer. */
  delayMs = 0;
  /** Chat requests after this many get no answer until `release`. */
  holdAfter = Infinity;
  private readonly holding: (() => void)[] = [];
  private server: Server | null = null;
  private port = 0;

  constructor(
    private readonly answer: (request: WireRequest) => FakeAnswer,
    readonly baseModel = 'base',
  ) {}

  /** Starts listening, on the same port each time. */
  async start(): Promise<this> {
    const server = createServer((request, response) => void this.handle(request, response));
    await new Promise<void>((resolve) => server.listen(this.port, '127.0.0.1', resolve));
    this.port = (server.address() as AddressInfo).port;
    this.server = server;
    return this;
  }

  /** Goes away as a killed process does: open connections break and adapters are forgotten. */
  async stop(): Promise<void> {
    const server = this.server;
    this.server = null;
    this.adapters.clear();
    if (!server) return;
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    server.closeAllConnections();
    await closed;
  }

  /** Chat requests that wait for `release`. */
  get held(): number {
    return this.holding.length;
  }

  /** Answers what was held, and holds nothing more. */
  release(): void {
    this.holdAfter = Infinity;
    for (const goOn of this.holding.splice(0)) goOn();
  }

  get baseUrl(): string {
    return `http://127.0.0.1:${this.port}/v1`;
  }

  private async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const text = Buffer.concat(chunks).toString('utf8');
    const send = (status: number, body: unknown, headers: Record<string, string> = {}): void => {
      response.writeHead(status, { 'content-type': 'application/json', ...headers });
      response.end(JSON.stringify(body));
    };
    if (this.apiKey !== null && request.headers.authorization !== `Bearer ${this.apiKey}`)
      return send(401, { error: { message: 'wrong key' } });
    if (request.url === '/v1/models') {
      if (this.modelList !== null) return send(200, this.modelList);
      const base = {
        id: this.baseModel,
        ...(this.weightsSha256 === null ? {} : { weights_sha256: this.weightsSha256 }),
        ...(this.root === null ? {} : { root: this.root }),
        max_model_len: 2048,
      };
      return send(200, { object: 'list', data: [base, ...[...this.adapters].map((id) => ({ id }))] });
    }
    if (request.url === '/v1/load_lora_adapter') {
      const load = JSON.parse(text) as { lora_name: string; lora_path: string };
      this.loads.push(load);
      this.adapters.add(load.lora_name);
      return send(200, {});
    }
    const body = JSON.parse(text) as WireRequest;
    this.requests.push(body);
    if (this.requests.length > this.holdAfter) await new Promise<void>((resolve) => this.holding.push(resolve));
    if (this.delayMs) await new Promise((resolve) => setTimeout(resolve, this.delayMs));
    if (this.behaviour?.(body, response) === true) return;
    const failed =
      this.interceptors.map((intercept) => intercept(body)).find((found) => found !== null) ?? this.failNext.shift();
    if (failed)
      return send(
        failed.status,
        failed.body ?? { error: { message: 'made to fail' } },
        'headers' in failed ? failed.headers : undefined,
      );
    if (body.model !== this.baseModel && !this.adapters.has(body.model)) {
      return send(404, {
        error: {
          message: `The model \`${body.model}\` does not exist.`,
          type: 'invalid_request_error',
          code: 'model_not_found',
        },
      });
    }
    const fingerprint =
      this.weightsSha256 === null ? {} : { system_fingerprint: `weights-${this.weightsSha256.slice(0, 16)}` };
    return send(200, { ...(completion(body, this.answer(body)) as object), ...fingerprint });
  }
}

function completion(request: WireRequest, { content, reasoning, cut, calls, labels }: FakeAnswer): unknown {
  const alternatives = Object.entries(labels ?? {}).map(([token, probability]) => ({
    token,
    logprob: Math.log(probability),
  }));
  return {
    id: 'fake',
    object: 'chat.completion',
    model: request.model,
    choices: [
      {
        index: 0,
        finish_reason: cut ? 'length' : calls ? 'tool_calls' : 'stop',
        message: {
          role: 'assistant',
          content: content ?? null,
          ...(reasoning === undefined ? {} : { reasoning_content: reasoning }),
          ...(calls
            ? {
                tool_calls: calls.map((call, index) => ({
                  // Random on purpose: ids must not reach the artifacts.
                  id: `call_${Math.random().toString(36).slice(2)}_${index}`,
                  type: 'function',
                  function: {
                    name: call.name,
                    arguments: typeof call.arguments === 'string' ? call.arguments : JSON.stringify(call.arguments),
                  },
                })),
              }
            : {}),
        },
        logprobs: { content: [{ token: 'x', logprob: -0.5, top_logprobs: request.top_logprobs ? alternatives : [] }] },
      },
    ],
    usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
  };
}

/** A policy for `parcel_desk.py` that weighs and then counts stamps right for a share of the sampler's seeds. */
export function parcelPolicy(share: (model: string) => number): (request: WireRequest) => FakeAnswer {
  return ({ messages, seed, model }) => {
    const parcel = /P\d+/.exec(messages.find((message) => message.role === 'user')?.content ?? '')?.[0] ?? 'P0';
    const grams = Number(/^(\d+) g$/.exec(messages.at(-1)?.content ?? '')?.[1]);
    if (!grams) return { calls: [{ name: 'weigh', arguments: { parcel } }] };
    const isRight = (Math.imul(seed, 2654435761) >>> 0) / 2 ** 32 < share(model);
    return { calls: [{ name: 'send', arguments: { parcel, stamps: Math.ceil(grams / 100) + (isRight ? 0 : 1) } }] };
  };
}
