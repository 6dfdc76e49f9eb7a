import { mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';

/** The state directory of one run of a benchmark. All of its runs share the models. @param home of the benchmark. */
export function runHome(home: string, name: string): string {
  const folder = join(home, name);
  mkdirSync(join(home, 'models'), { recursive: true });
  mkdirSync(folder, { recursive: true });
  try {
    symlinkSync(join(home, 'models'), join(folder, 'models'));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  return folder;
}
