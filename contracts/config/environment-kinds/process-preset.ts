/** What the short forms of `process` share: servers of this project, in a virtual environment of the target. */
import { join } from 'node:path';
import { z } from 'zod';
import { projectRoot } from '../../project-root';
import { apiUrlSchema } from '../http-url';
import { commandOptions, namedTasks } from './shared-options';
import { type ProcessSection, processKind } from './process';

const { processes, episodesPerProcess, seconds, successReward, maxTurns } = processKind.schema.shape;

/** Options of a short form. Their defaults are those of `process`. */
export const presetOptions = {
  venv: z
    .string()
    .min(1)
    .max(4000)
    .describe('Folder of the virtual environment that has the packages. `whet env add` makes one and prints its path.'),
  ...namedTasks,
  tasks: namedTasks.tasks
    .unwrap()
    .default('tasks.jsonl')
    .describe('File with the tasks, whose lines `whet env tasks AGENT_YAML` prints; or `{command, seconds}`.'),
  processes,
  episodesPerProcess,
  seconds,
  successReward,
  maxTurns: maxTurns.default(100),
};

/** A user whom a model plays. */
export const simulatedUser = z.strictObject({
  baseUrl: apiUrlSchema.describe('OpenAI-compatible address of the model that plays the user.'),
  model: z.string().min(1).max(300).describe('Its name there.'),
  apiKeyEnv: commandOptions.secrets.def.innerType.element.optional().describe('Variable of the worker with its key.'),
  temperature: z.number().min(0).max(2).default(0).describe('Temperature of its answers.'),
});

/**
 * A user without a model.
 * @param about what the scripts do.
 */
export const scriptedUser = <const Script extends string>(scripts: readonly Script[], about: string) =>
  z.strictObject({ script: z.enum(scripts).describe(`No model: ${about} For tests.`) });

/**
 * The arguments of a server that say who plays the user, and the variables that it needs for that.
 * @param seconds The server gives up on a user that does not answer before the deadline ends the step.
 */
export function userWords(
  user: z.infer<typeof simulatedUser> | { script: string },
  seconds: ProcessSection['seconds'],
): { words: string[]; secrets: string[] } {
  const deadline = ['--step-seconds', String(seconds.step)];
  if ('script' in user) return { words: [...deadline, '--user-script', user.script], secrets: [] };
  const { baseUrl, model, apiKeyEnv, temperature } = user;
  const asked = ['--user-url', baseUrl, '--user-model', model, '--user-temperature', String(temperature)];
  const words = [...deadline, ...asked];
  if (apiKeyEnv === undefined) return { words, secrets: [] };
  return { words: [...words, '--user-key-variable', apiKeyEnv], secrets: [apiKeyEnv] };
}

type Shared = Omit<ProcessSection, 'kind' | keyof typeof commandOptions>;

/**
 * The process of a short form.
 * @param server a module of `targets/whetstone_process/presets/`.
 * @param words its arguments.
 */
export function presetProcess(
  { venv, ...section }: Shared & { venv: string },
  server: string,
  words: readonly string[],
  given: { folders?: string[]; secrets?: string[]; variables?: Record<string, string> } = {},
): ProcessSection {
  const { tasks, splits, trainSeeds, heldOutSeeds, processes, episodesPerProcess, seconds } = section;
  const { maxTurns, successReward } = section;
  const library = join(projectRoot(), 'targets');
  return {
    kind: 'process',
    command: [join(venv, 'bin', 'python'), '-m', `whetstone_process.presets.${server}`, ...words],
    folders: [venv, library, ...(given.folders ?? [])],
    secrets: given.secrets ?? [],
    variables: { PYTHONPATH: library, PYTHONDONTWRITEBYTECODE: '1', ...given.variables },
    ...{ tasks, splits, trainSeeds, heldOutSeeds, processes, episodesPerProcess, seconds, maxTurns, successReward },
  };
}
