import {
  type Dirent,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, relative } from 'node:path';
import type { RandomSource } from '../../../activities/statistics/random';
import { keyOfAnswer } from './recorded-answer';

/** Files of a store by pattern, the newest first. The store may change meanwhile. */
export function filesOf(home: string, pattern: RegExp): string[] {
  const store = join(home, 'store');
  return filesBelow(store)
    .filter((path) => pattern.test(relative(store, path)))
    .flatMap((path) => {
      const stat = statSync(path, { throwIfNoEntry: false });
      return stat === undefined || stat.size === 0 ? [] : { path, at: stat.mtimeMs };
    })
    .sort((a, b) => b.at - a.at)
    .map(({ path }) => path);
}

/** All files below a folder. Folders that are gone when they are looked into have none. */
function filesBelow(folder: string): string[] {
  let entries: Dirent[];
  try {
    entries = readdirSync(folder, { withFileTypes: true });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
  return entries.flatMap((entry) => {
    const path = join(folder, entry.name);
    return entry.isDirectory() ? filesBelow(path) : entry.isFile() ? [path] : [];
  });
}

/** One of the files that match, drawn; null when there is none. */
export function drawFile(home: string, pattern: RegExp, random: RandomSource): string | null {
  const files = filesOf(home, pattern).sort();
  return files[random.below(Math.max(1, files.length))] ?? null;
}

/** The file that matches and was written last, if that was a moment ago; null when none was. */
export function fileBeingWritten(home: string, pattern: RegExp): string | null {
  const [newest] = filesOf(home, pattern);
  return newest !== undefined && Date.now() - statSync(newest).mtimeMs < BEING_WRITTEN_MS ? newest : null;
}

const BEING_WRITTEN_MS = 1_000;

/** Work files of activities. */
export const WORK_SEGMENT = /^runs\/[^/]+\/work\/.*\.jsonl$/;
/** Labels that all runs of an agent share. */
export const LABEL_SEGMENT = /^labels-cache\/.*\.jsonl$/;
/** Immutable artifacts with their hash in the name. */
export const ARTIFACT =
  /^runs\/[^/]+\/(trajectories|labels|capabilities|environments|evaluation)\/.*-[0-9a-f]{12}\.\w+$/;
/** Weights of adapters. */
export const ADAPTER = /^adapters\/.*\.safetensors$/;

/**
 * Cuts the last line in half, as a crash in the middle of a write does. Returns the keys of the answers that are gone.
 */
export function tearLastLine(path: string): string[] {
  const text = readFileSync(path, 'utf8');
  const last = text.trimEnd().lastIndexOf('\n') + 1;
  truncateSync(path, Buffer.byteLength(text.slice(0, last)) + Math.floor((Buffer.byteLength(text) - last) / 2));
  return keysOf([text.slice(last)]);
}

/**
 * Cuts a line in the middle of the file in half and joins the rest to the next one, as a full disk does. Returns the
 * keys of the answers that are gone.
 */
export function spoilLine(path: string): string[] {
  const lines = readFileSync(path, 'utf8').split('\n');
  const at = Math.floor((lines.length - 1) / 2);
  const [line = '', next = ''] = lines.slice(at, at + 2);
  lines.splice(at, 2, line.slice(0, line.length / 2) + next);
  writeFileSync(path, lines.join('\n'));
  return keysOf([line, next]);
}

const keysOf = (lines: readonly string[]): string[] => lines.flatMap((line) => keyOfAnswer(line) ?? []);

/** Cuts the file in half. It has no answers of the analyst. */
export function halve(path: string): string[] {
  truncateSync(path, Math.floor(statSync(path).size / 2));
  return [];
}

/** Removes the file. It has no answers of the analyst. */
export function remove(path: string): string[] {
  rmSync(path);
  return [];
}

/** Replaces the file by an empty one, or by the first half of what is there. */
export function tear(path: string, how: 'empty' | 'half'): void {
  mkdirSync(dirname(path), { recursive: true });
  const text = existsSync(path) ? readFileSync(path, 'utf8') : '{"versions": [{"version": 1, ';
  writeFileSync(path, how === 'empty' ? '' : text.slice(0, text.length / 2));
}
