import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/** A question to the user, as the service that plays it counts it. */
export interface UserCall {
  /** The episode in the agent's words; it begins with the seed of the task. */
  episode: string;
  turn: number;
  /** Milliseconds since 1970. */
  at: number;
  became: 'answer' | 'error' | 'silence';
}

/** One call in so many fails, and one in so many gets no answer at all. */
const FAILS = 10;
const SILENT = 20;
/** Tasks whose user never works, so that each cause is in every report. */
const BROKEN: Readonly<Record<string, UserCall['became']>> = { 5: 'error', 9: 'silence' };

/**
 * The service that plays the user of an agent. It is no part of Whetstone and outlives every kill, so its list of calls
 * says independently what was played. Which calls fail depends on the task, the turn, and how often it was asked.
 */
export class UserService {
  readonly calls: UserCall[] = [];
  /** Most calls that waited at a time. */
  mostAtOnce = 0;
  private waiting = 0;
  private readonly server: Server = createServer((request, response) => void this.handle(request, response));

  /** @param answerMs how long the user takes for a turn. */
  constructor(private readonly answerMs: number) {}

  async start(): Promise<string> {
    await new Promise<void>((resolve) => this.server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}/user`;
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise<void>((resolve) => this.server.close(() => resolve()));
  }

  private async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    try {
      for await (const chunk of request) chunks.push(chunk as Buffer);
    } catch {
      return; // Its caller was killed.
    }
    const { episode, turn } = JSON.parse(Buffer.concat(chunks).toString('utf8')) as { episode: string; turn: number };
    const before = this.calls.filter((call) => call.episode === episode && call.turn === turn).length;
    const task = episode.split(' ')[0]!;
    const became = BROKEN[task] ?? fateOf(`${task} ${turn} ${before}`);
    this.calls.push({ episode, turn, at: Date.now(), became });
    this.mostAtOnce = Math.max(this.mostAtOnce, ++this.waiting);
    await sleep(this.answerMs);
    this.waiting--;
    if (became === 'silence') return;
    response.writeHead(became === 'error' ? 503 : 200, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ text: `Turn ${turn}.` }));
  }
}

function fateOf(call: string): UserCall['became'] {
  const draw = createHash('sha256').update(call).digest().readUInt32BE() % (FAILS * SILENT);
  return draw < SILENT ? 'error' : draw < SILENT + FAILS ? 'silence' : 'answer';
}
