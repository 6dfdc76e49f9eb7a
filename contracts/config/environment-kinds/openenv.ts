import { z } from 'zod';
import { httpUrlSchema } from '../http-url';
import { presetOptions, presetProcess } from './process-preset';
import type { ProcessSection } from './process';
import { endlessTasks } from './shared-options';
import type { Starter } from './starter';

const { venv, processes, episodesPerProcess, seconds, successReward, maxTurns, splits } = presetOptions;

const schema = z.strictObject({
  kind: z.literal('openenv').describe('An environment of OpenEnv, which a server serves.'),
  url: httpUrlSchema.describe('Address of the server.'),
  reward: z.enum(['last', 'sum']).default('last').describe("The episode's reward: of its last step, or their sum."),
  textField: z
    .string()
    .min(1)
    .max(100)
    .optional()
    .describe('Field of an action that takes what the agent says without a call. Absent: that ends the episode.'),
  prompt: z.string().max(100_000).optional().describe('A system message before the first observation.'),
  venv,
  ...endlessTasks,
  processes,
  episodesPerProcess,
  seconds,
  successReward,
  maxTurns,
});
type OpenEnvSection = z.infer<typeof schema>;

function expand(section: OpenEnvSection): ProcessSection {
  const { url, reward, textField, prompt, ...shared } = section;
  const words = ['--url', url, '--reward', reward];
  if (textField !== undefined) words.push('--text-field', textField);
  if (prompt !== undefined) words.push('--prompt', prompt);
  return presetProcess({ ...shared, tasks: undefined, splits: splits.parse(undefined) }, 'openenv', words);
}

const starter: Starter = {
  section: {
    url: 'http://127.0.0.1:8000',
    venv: 'VENV',
    trainSeeds: { start: 0, count: 300 },
    heldOutSeeds: { start: 1000, count: 200 },
  },
  before: ['WHET env add openenv', 'put the path that it prints in place of VENV in FOLDER/agent.yaml, and your url'],
};

/** `kind: openenv`. */
export const openenvKind = { kind: 'openenv', schema, expand, starter } as const;
