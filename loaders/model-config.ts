import { join } from 'node:path';
import { readBounded } from './read-bounded';

/** Largest config.json that is read, in bytes. */
const CONFIG_BYTES = 10_000_000;

/** The config.json of the model in a directory; null if there is none, or if it cannot be read. */
export function readModelConfig(directory: string): unknown {
  try {
    return JSON.parse(readBounded(join(directory, 'config.json'), CONFIG_BYTES).toString('utf8')) as unknown;
  } catch {
    return null;
  }
}
