import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import type { FastifyInstance } from 'fastify';

/** Environment variable with the path of the door log. It also marks the processes of one instance. */
export const DOOR_VARIABLE = 'WHET_CHAOS_DOOR';

/** One call as the provider saw it. Times are milliseconds since 1970. */
export interface DoorCall {
  key: string | null;
  askedAt: number;
  /** When the connection's part in it was over; null: the provider died meanwhile. */
  endedAt: number | null;
  /** Whether the whole answer was handed to the caller's connection. */
  delivered: boolean;
  status: number | null;
}

type Line =
  | { event: 'asked'; call: string; at: number; key: string | null }
  | { event: 'ended'; call: string; at: number; delivered: boolean; status: number };

/** Logs the calls that arrive at a server. */
export function logCalls(app: FastifyInstance, path: string): void {
  const log = openDoorLog(path);
  app.addHook('onRequest', (request, reply, done) => {
    if (request.method === 'POST') {
      const key = request.headers['idempotency-key'];
      const answered = log.asked(typeof key === 'string' ? key : null);
      reply.raw.once('close', () => answered(reply.raw.writableFinished, reply.raw.statusCode));
    }
    done();
  });
}

/** Opens a log of the calls that arrive at a provider. Every line is in the file before the call goes on. */
function openDoorLog(path: string): {
  /** Notes a call; the result notes its end. */
  asked(key: string | null): (delivered: boolean, status: number) => void;
} {
  const write = (line: Line) => appendFileSync(path, `${JSON.stringify(line)}\n`);
  let calls = 0;
  return {
    asked(key) {
      const call = `${process.pid}-${Date.now()}-${calls++}`;
      write({ event: 'asked', call, at: Date.now(), key });
      return (delivered, status) => write({ event: 'ended', call, at: Date.now(), delivered, status });
    },
  };
}

/** Reads the calls in the order in which they arrived. A half-written last line is left out. */
export function readDoorLog(path: string): DoorCall[] {
  if (!existsSync(path)) return [];
  const calls = new Map<string, DoorCall>();
  for (const text of readFileSync(path, 'utf8').split('\n')) {
    const line = parse(text);
    if (line === null) continue;
    if (line.event === 'asked')
      calls.set(line.call, { key: line.key, askedAt: line.at, endedAt: null, delivered: false, status: null });
    else {
      const call = calls.get(line.call);
      if (call) Object.assign(call, { endedAt: line.at, delivered: line.delivered, status: line.status });
    }
  }
  return [...calls.values()];
}

function parse(text: string): Line | null {
  try {
    return JSON.parse(text) as Line;
  } catch {
    return null;
  }
}
