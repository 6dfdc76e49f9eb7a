import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { z } from 'zod';
import { type EnvironmentTokens, environmentTokensSchema } from '../../../contracts/artifacts/environment-use';
import { startOf } from '../../../contracts/clean-text';
import { diagnosticsSchema } from '../../../contracts/messages/environment-protocol';

const LARGEST_BYTES = 1_048_576;

/** What a program, or the command that scores it, says about its episode (docs/reference/protocols.md, section 2c). */
const resultSchema = z.strictObject({
  reward: z.number().min(0).max(1),
  /** Default: whether the reward is at least `successReward`. */
  success: z.boolean().optional(),
  /** Ground truth for reports about planted deficits; the analyst never sees it. */
  diagnostics: diagnosticsSchema.default({}),
  /** Ground truth for reports; the analyst never sees it. */
  tags: z.array(z.string().max(1_000)).max(64).default([]),
  /** The results of the last answer's calls, which no request shows. */
  observations: z.array(z.string().max(65_536)).max(64).default([]),
  /** Tokens that a simulated user and a judge spent. */
  usage: environmentTokensSchema.optional(),
  /** Default: `turn-limit` after `max_turns` answers, else `done`. */
  finish: z.enum(['done', 'turn-limit', 'no-tool-call']).optional(),
});
export type ProgramResult = z.infer<typeof resultSchema>;

/** What a result is, for messages that refuse one. */
export const RESULT_FORM = 'A result is JSON as the last line of stdout, such as {"reward": 0.5}; rewards are 0 to 1.';

/** Reads a result. Returns what is wrong with it as a sentence instead. */
export function readResult(text: string): ProgramResult | { fault: string } {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return { fault: 'The result is not JSON.' };
  }
  const parsed = resultSchema.safeParse(value);
  if (parsed.success) return parsed.data;
  return { fault: `The result is wrong: ${startOf(z.prettifyError(parsed.error), 500)}` };
}

/** What a text says of `usage`, whether or not the rest of it is a result. */
const usageSchema = z.looseObject({ usage: environmentTokensSchema });

/** The tokens that a result, or an object with `usage` alone, says were spent; null: it does not say. */
export function usageIn(text: string | null): EnvironmentTokens | null {
  try {
    return usageSchema.safeParse(JSON.parse(text ?? '')).data?.usage ?? null;
  } catch {
    return null;
  }
}

/**
 * What a program says that it has spent, in its result file, else in the last line of its output; null: nothing.
 * @param ended null: it was killed before its output was known.
 * @param path of the result file.
 */
export async function usageOf(
  ended: { lastLine: string | null } | null,
  path: string,
): Promise<EnvironmentTokens | null> {
  const file = await resultFile(path).catch(() => null);
  return usageIn(file) ?? usageIn(ended?.lastLine ?? null);
}

/**
 * The text of the file that a program wrote its result to; null if there is none. The program may have put anything
 * there: links, pipes and large files count as none.
 */
export async function resultFile(path: string): Promise<string | null> {
  let file;
  try {
    file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch {
    return null;
  }
  try {
    const { size } = await file.stat().then((found) => (found.isFile() ? found : { size: 0 }));
    if (size === 0 || size > LARGEST_BYTES) return null;
    const { buffer, bytesRead } = await file.read(Buffer.alloc(size), 0, size, 0);
    return buffer.toString('utf8', 0, bytesRead);
  } finally {
    await file.close();
  }
}
