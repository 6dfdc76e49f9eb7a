import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { randomSource } from '../../../activities/statistics/random';
import { LocalStore, readRegistry } from '../../../store';
import type { Instance } from './instance';
import { calmRun } from './run';

/**
 * Runs an undisturbed first night. What it promoted is rolled back, so that a second night goes through every stage and
 * takes environments, calibrations, adapters and labels from the first one.
 */
export async function playFirstNight(instance: Instance, seed: number, say: (line: string) => void): Promise<void> {
  const { calm } = await calmRun(instance, seed, randomSource(1), say);
  const agent = JSON.parse(calm.outcome['agent'] ?? '""') as string;
  say(`first night: ${calm.outcome['verdict']} after ${calm.seconds.toFixed(0)} s`);
  const { active } = await readRegistry(new LocalStore(join(instance.home, 'store')), agent);
  if (active === null) return;
  const { code, stderr } = await instance.whet(['rollback', agent]);
  if (code !== 0) throw new Error(`whet rollback ended with ${code}: ${stderr}`);
}

/** Whether a first night of this build lies in a folder already. */
export function hasFirstNight(marker: string, build: string): boolean {
  return existsSync(marker) && readFileSync(marker, 'utf8') === build;
}

/** Notes that the first night is complete. */
export const markFirstNight = (marker: string, build: string): void => writeFileSync(marker, build);
