import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { type TrainingProgress, trainingProgressSchema } from '../../contracts/artifacts/training';
import { startOf } from '../../contracts/clean-text';

/** Longest sentence of a trainer about the reason of its wait, in characters. It may quote a server. */
const MAX_SENTENCE = 500;

/** Reads the complete lines of progress.jsonl, oldest first. A line that is still being written is left out. */
export async function readProgressLines(directory: string): Promise<TrainingProgress[]> {
  const text = await readFile(join(directory, 'progress.jsonl'), 'utf8').catch(() => '');
  return text.split('\n').flatMap((line) => {
    try {
      const parsed = trainingProgressSchema.safeParse(JSON.parse(line));
      return parsed.success ? [parsed.data] : [];
    } catch {
      return [];
    }
  });
}

/** Reads the newest complete line of progress.jsonl; null when there is none. */
export async function lastIteration(directory: string): Promise<TrainingProgress | null> {
  return (await readProgressLines(directory)).at(-1) ?? null;
}

/** The reason why the trainer waits and cannot work, as a sentence; null while it works. */
export async function readWaiting(directory: string): Promise<string | null> {
  return readFile(join(directory, 'waiting'), 'utf8').then(
    (sentence) => startOf(sentence.replace(/\p{Cc}+/gu, ' '), MAX_SENTENCE),
    () => null,
  );
}

/** Time of the last change of progress.jsonl, in milliseconds since 1970; null if there is none. */
export async function progressChangedMs(directory: string): Promise<number | null> {
  return stat(join(directory, 'progress.jsonl')).then(
    ({ mtimeMs }) => mtimeMs,
    () => null,
  );
}
