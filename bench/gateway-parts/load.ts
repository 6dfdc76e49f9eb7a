/** Load for measurements: requests over kept-alive connections, each answer read to its end. */
import { Client, type Dispatcher } from 'undici';
import { percentile } from '../support/percentile';

/** What is asked. */
export interface Shot {
  path: string;
  headers: Record<string, string>;
  body: Buffer;
}

/** One answer's times in milliseconds. */
export interface Timing {
  firstByte: number;
  total: number;
  /** Status, and whether the answer has the form it should have. */
  ok: boolean;
}

/** One request on one connection. Never rejects: what fails is not ok. */
export function shoot(client: Client, shot: Shot, isStream: boolean): Promise<Timing> {
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
        path: shot.path,
        headers: { 'content-type': 'application/json', ...shot.headers },
        body: shot.body,
      },
      handler,
    );
  });
}

/** Sequential requests on one connection. */
export async function sequential(origin: string, shot: Shot, isStream: boolean, count: number): Promise<Timing[]> {
  const client = new Client(origin, { headersTimeout: 30_000 });
  const timings: Timing[] = [];
  for (let i = 0; i < count; i++) timings.push(await shoot(client, shot, isStream));
  await client.close();
  return timings;
}

/** Requests a second over `connections` connections, each sending its next request when it has its answer. */
export async function throughput(
  origin: string,
  shot: Shot,
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
        const { ok, total } = await shoot(client, shot, isStream);
        if (ok) totals.push(total);
        else failed += 1;
      }
    }),
  );
  const elapsed = (performance.now() - began) / 1000;
  await Promise.all(clients.map((client) => client.close()));
  return { rps: totals.length / elapsed, failed, p99: percentile(totals, 0.99) };
}
