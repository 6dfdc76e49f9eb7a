import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { randomSource } from '../../../activities/statistics/random';
import { LocalStore, readRegistry } from '../../../store';
import type { Instance } from './instance';
import { calmRun } from './run';

/** An undisturbed first night that lies in a folder. */
interface FirstNight {
  /** What it was built from. */
  build: string;
  agent: string;
}

/** Runs an undisturbed first night. Returns the agent's name. */
export async function playFirstNight(
  instance: Instance,
  seed: number,
  say: (line: string) => void,
): Promise<FirstNight['agent']> {
  const { calm } = await calmRun(instance, seed, randomSource(1), say);
  say(`first night: ${calm.outcome['verdict']} after ${calm.seconds.toFixed(0)} s`);
  return JSON.parse(calm.outcome['agent'] ?? '""') as string;
}

/**
 * Leaves the version that the first night promoted active for a `served` night, which measures it. Before another
 * one it is rolled back, so that the night goes through every stage and takes environments, calibrations, adapters and
 * labels from the first one. Throws where nothing is active that could be measured.
 */
export async function prepareVersion(
  instance: Instance,
  agent: string,
  night: 'second' | 'served' | 'changed',
): Promise<void> {
  const { active } = await readRegistry(new LocalStore(join(instance.home, 'store')), agent);
  if (night === 'served') {
    if (active === null) throw new Error('The first night promoted nothing, so there is no version to measure.');
  } else if (active !== null) {
    const { code, stderr } = await instance.whet(['rollback', agent]);
    if (code !== 0) throw new Error(`whet rollback ended with ${code}: ${stderr}`);
  }
}

/** The first night of this build that lies in a folder already; null: there is none. */
export function readFirstNight(marker: string, build: string): FirstNight | null {
  if (!existsSync(marker)) return null;
  const found = JSON.parse(readFileSync(marker, 'utf8')) as FirstNight;
  return found.build === build ? found : null;
}

/** Notes that the first night is complete. */
export const markFirstNight = (marker: string, night: FirstNight): void => writeFileSync(marker, JSON.stringify(night));
