/** The orders desk of agent.program.yaml as a module: the same tasks, model and settings. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DESK } from '../shared/demo-model';

/** The agent that is a program. */
export const PROGRAM_AGENT = join(DESK, 'agent.program.yaml');

/** What is a program's alone, and what takes its place. */
const EDITS: readonly (readonly [RegExp, string])[] = [
  [/^name: .*$/m, 'name: orders-desk-module'],
  [/^ {2}kind: program\n {2}command: .*$/m, `  path: ${JSON.stringify(join(DESK, 'environment.py'))}`],
  [/^ {2}memoryPerEpisode: .*\n {2}seconds: .*\n/m, ''],
  [/^ {2}recipe: .*$/m, `  recipe: ${JSON.stringify(join(DESK, 'recipe.py'))}`],
];

/** Writes the agent into a folder; returns its path. @throws Error when agent.program.yaml lacks what is edited. */
export function writeModuleAgent(folder: string): string {
  const text = EDITS.reduce(
    (before, [passage, instead]) => {
      if (!passage.test(before)) throw new Error(`${PROGRAM_AGENT} has changed; it lacks ${String(passage)}`);
      return before.replace(passage, () => instead);
    },
    readFileSync(PROGRAM_AGENT, 'utf8'),
  );
  const path = join(folder, 'agent.yaml');
  writeFileSync(path, text);
  return path;
}
