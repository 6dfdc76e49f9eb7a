/** Sends requests over kept-alive connections, reads each answer to its end, and measures the times. */
import { Client, type Dispatcher } from 'undici';
import { percentile } from '../shared/percentile';

/** A POST request. */
export interface LoadRequest {
  path: string;
  headers: Record<string, string>;
  body: Buffer;
}

/** One answer's times in milliseconds. */
export interface Timing {
  firstByte: number;
  total: number;
  /** Whether the status is 200 and the answer complete. */
  ok: boolean;
}

/** Sends one request. Never rejects: one that fails is not `ok`. */
function sendTimed(client: Client, request: LoadRequest, isStream: boolean): Promise<Timing> {
  return new Promise((resolve) => {
    const began = performance.now();
    let firstByte = 0;
    let status = 0;
    let bytes = 0;
    let isDone = false;
    const end = (ok: boolean) => resolve({ firstByte: firstByte - began, total: performance.now() - began, ok });
    const handler: Dispatcher.DispatchHandler = {
      onRequestStart: () => undefined,
      onResponseStart(_controller, code) {
        status = code;
      },
      onResponseData(_controller, chunk) {
        if (firstByte === 0) firstByte = performance.now();
        bytes += chunk.length;
        if (isStream && chunk.includes('[DONE]')) isDone = true;
      },
      onResponseEnd() {
        end(status === 200 && (isStream ? isDone : bytes > 0));
      },
      onResponseError: () => end(false),
    };
    client.dispatch(
      {
        method: 'POST',
        path: request.path,
        headers: { 'content-type': 'application/json', ...request.headers },
        body: request.body,
      },
      handler,
    );
  });
}

/** Sends requests one after another on one connection. */
export async function timeSequentially(
  origin: string,
  request: LoadRequest,
  isStream: boolean,
  count: number,
): Promise<Timing[]> {
  const client = new Client(origin, { headersTimeout: 30_000 });
  const timings: Timing[] = [];
  for (let i = 0; i < count; i++) timings.push(await sendTimed(client, request, isStream));
  await client.close();
  return timings;
}

/** Requests a second over `connections` connections, each sending its next request when it has its answer. */
export async function measureThroughput(
  origin: string,
  request: LoadRequest,
  isStream: boolean,
  connections: number,
  seconds: number,
): Promise<{ rps: number; failed: number; p99: number }> {
  const clients = Array.from({ length: connections }, () => new Client(origin, { headersTimeout: 30_000 }));
  const began = performance.now();
  const end = began + seconds * 1000;
  const totals: number[] = [];
  let failed = 0;
  await Promise.all(
    clients.map(async (client) => {
      while (performance.now() < end) {
        const { ok, total } = await sendTimed(client, request, isStream);
        if (ok) totals.push(total);
        else failed += 1;
      }
    }),
  );
  const elapsed = (performance.now() - began) / 1000;
  await Promise.all(clients.map((client) => client.close()));
  return { rps: totals.length / elapsed, failed, p99: percentile(totals, 0.99) };
}
