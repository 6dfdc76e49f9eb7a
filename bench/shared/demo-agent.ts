/** Variants of the demo's agent in folders of their own: the same model, another name, an edited environment. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DESK } from './demo-model';

/** A passage of a file that stands in it once, and what takes its place. */
export type Edit = readonly [passage: string, instead: string];

/**
 * Writes the demo's environment into a folder, with edits.
 * @throws Error when the demo's file no longer has what is edited.
 */
export function writeDemoEnvironment(folder: string, edits: readonly Edit[]): void {
  const source = readFileSync(join(DESK, 'environment.py'), 'utf8');
  writeFileSync(join(folder, 'environment.py'), edits.reduce(replaceOnce, source));
}

/**
 * Writes the demo's agent.yaml into a folder, under another name: the model is made by the demo's own recipe. Returns
 * its path.
 * @throws Error when the demo's file no longer has what is edited.
 */
export function writeDemoAgent(folder: string, name: string): string {
  const edits: readonly Edit[] = [
    ['  recipe: recipe.py\n', `  recipe: ${JSON.stringify(join(DESK, 'recipe.py'))}\n`],
    ['name: orders-desk\n', `name: ${name}\n`],
  ];
  const path = join(folder, 'agent.yaml');
  writeFileSync(path, edits.reduce(replaceOnce, readFileSync(join(DESK, 'agent.yaml'), 'utf8')));
  return path;
}

function replaceOnce(text: string, [passage, instead]: Edit): string {
  if (text.split(passage).length !== 2) throw new Error(`The demo has changed; it has not once: ${passage}`);
  return text.replace(passage, () => instead);
}
