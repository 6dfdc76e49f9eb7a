import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { makeTemporaryFolder, removeTemporaryFolder } from '../../../contracts/temporary-folders';
import type { ProgramSource } from '../../../sandbox';
import type { CaptureAddress } from '../capture/capture-server';
import type { EpisodePlan } from '../episode';

/** The task of an episode, as its commands read it. */
export function taskOf(
  { tasks, agent }: ProgramSource,
  { seed, split, trial }: Pick<EpisodePlan, 'seed' | 'split' | 'trial'>,
  maxTurns: number,
) {
  return { task_id: tasks?.[seed] ?? String(seed), seed, model: agent, split, trial, max_turns: maxTurns };
}

/** The folder of an episode, with the file of its task, and what all of its commands get. */
export interface EpisodePlace {
  folder: string;
  /** The task as JSON. */
  task: string;
  variables: { TASK_FILE: string; RESULT_FILE: string; WHET_EPISODE: string };
  /** Removes the folder. Never rejects: resolves to a sentence if something of it is left, else to null. */
  close: () => Promise<string | null>;
}

/** Makes the folder of an episode. @param episode value of WHET_EPISODE. */
export async function openPlace(task: ReturnType<typeof taskOf>, episode: string): Promise<EpisodePlace> {
  const folder = await makeTemporaryFolder('whet-episode');
  const variables = {
    TASK_FILE: join(folder, 'task.json'),
    RESULT_FILE: join(folder, 'result.json'),
    WHET_EPISODE: episode,
  };
  const text = JSON.stringify(task);
  await writeFile(variables.TASK_FILE, text);
  return { folder, task: text, variables, close: () => removed(folder) };
}

/** Removes what a program may have filled in any way. Returns a sentence if something is left. */
async function removed(folder: string): Promise<string | null> {
  try {
    await removeTemporaryFolder(folder);
    return null;
  } catch {
    return `The folder of an episode could not be removed: ${folder}`;
  }
}

/** Writes a file where a program may have put something else: a link or a folder is removed first. */
export async function replaceFile(path: string, text: string): Promise<void> {
  await rm(path, { recursive: true, force: true });
  await writeFile(path, text, { flag: 'wx', mode: 0o644 });
}

/**
 * The variables by which the clients of OpenAI and Anthropic find the capture endpoint. OpenAI's Agents SDK would send
 * its traces to OpenAI, with the key of the episode, and try for ten seconds.
 */
export const endpointVariables = ({ agent }: ProgramSource, { url, key }: CaptureAddress) => ({
  OPENAI_BASE_URL: `${url}/v1`,
  OPENAI_API_KEY: key,
  OPENAI_MODEL: agent,
  OPENAI_AGENTS_DISABLE_TRACING: '1',
  ANTHROPIC_BASE_URL: url,
  ANTHROPIC_API_KEY: key,
  ANTHROPIC_MODEL: agent,
});

/** A number with which a program that counts tokens goes on, where no model's server is asked. */
export const guessedTokens = async (request: object): Promise<number> => Math.ceil(JSON.stringify(request).length / 4);
