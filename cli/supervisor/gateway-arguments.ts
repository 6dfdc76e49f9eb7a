import { join } from 'node:path';

/**
 * How Node starts the gateway, in MB. A small process keeps its old generation near 16 MB and marks all of it for every
 * few dozen requests of 100 KB, 5 to 10 ms each; with room to start with, twelve of fourteen such pauses went
 * (measured).
 */
const HEAP_FLAGS = ['--initial-old-space-size=256'];

/** Arguments for Node that start the gateway built in `dist`. */
export function gatewayArguments(dist: string): string[] {
  return [...HEAP_FLAGS, '--enable-source-maps', join(dist, 'gateway', 'main.js')];
}
