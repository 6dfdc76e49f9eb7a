import { join } from 'node:path';

/**
 * Heap of the gateway, in MB. By default the young generation grows to 100 MB and keeps that size after a burst of
 * malformed requests. The old generation begins near 16 MB and is marked after every few dozen requests of 100 KB.
 * After 10,000 malformed requests the process had grown by 36 to 72 % with an old generation of 256 MB, by 21 % with
 * 128 MB and by 13 % with this size. The 99th percentile of 100 KB is 2.9 to 4.4 ms with 64 MB, and 1.0 and 2.7 ms with
 * this size. A young generation of 8 MB answers up to a fifth fewer requests a second (measured,
 * `test/gateway/fuzz-servers` and `bench/gateway`).
 */
const HEAP_FLAGS = ['--initial-old-space-size=96', '--max-semi-space-size=16'];

/** Arguments for Node that start the gateway built in `dist`. */
export function gatewayArguments(dist: string): string[] {
  return [...HEAP_FLAGS, '--enable-source-maps', join(dist, 'gateway', 'main.js')];
}
