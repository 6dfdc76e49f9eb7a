import { delimiter, join } from 'node:path';
import { z } from 'zod';
import { projectRoot } from '../../project-root';
import { presetOptions, presetProcess, scriptedUser, simulatedUser, userWords } from './process-preset';
import type { ProcessSection } from './process';
import type { Starter } from './starter';

/** ToolSandbox has one world in a process. */
const EPISODES_PER_PROCESS = 1;
const { episodesPerProcess: _, processes, successReward, ...options } = presetOptions;

const schema = z.strictObject({
  kind: z
    .literal('toolsandbox')
    .describe("ToolSandbox of Apple: a phone's settings, contacts, messages and reminders."),
  clone: z.string().min(1).max(4000).describe('Folder of your clone of github.com/apple/ToolSandbox.'),
  user: z
    .union([simulatedUser, scriptedUser(['leaves'], "the user leaves after two of the agent's texts.")])
    .describe('Who plays the user.'),
  scenarios: z
    .enum(['base', 'all'])
    .default('all')
    .describe('The base scenarios, or with their variations: tools that distract, scrambled names and descriptions.'),
  rapidApi: z
    .boolean()
    .default(false)
    .describe('Also scenarios whose tools ask rapidapi.com. The variable RAPID_API_KEY of the worker has the key.'),
  ...options,
  processes: processes.default(4).describe('Processes, and so the most episodes at a time: each plays one (250 MB).'),
  successReward: successReward.describe('An episode with at least this similarity is a success.'),
});
type ToolSandboxSection = z.infer<typeof schema>;

function expand(section: ToolSandboxSection): ProcessSection {
  const { clone, user, scenarios, rapidApi, ...shared } = section;
  const { words, secrets } = userWords(user, shared.seconds);
  return presetProcess(
    { ...shared, episodesPerProcess: EPISODES_PER_PROCESS },
    'toolsandbox',
    ['--scenarios', scenarios, ...(rapidApi ? ['--with-network'] : []), ...words],
    {
      folders: [clone],
      secrets: [...secrets, ...(rapidApi ? ['RAPID_API_KEY'] : [])],
      variables: { PYTHONPATH: [join(projectRoot(), 'targets'), clone].join(delimiter) },
    },
  );
}

const starter: Starter = {
  section: {
    clone: 'ToolSandbox',
    venv: 'VENV',
    user: { baseUrl: 'http://127.0.0.1:8000/v1', model: 'MODEL' },
    tasks: 'tasks.jsonl',
  },
  before: [
    'git clone https://github.com/apple/ToolSandbox FOLDER/ToolSandbox',
    'WHET env add toolsandbox',
    'put the path that it prints in place of VENV in FOLDER/agent.yaml, and the model that plays the user into user',
    'WHET env tasks FOLDER/agent.yaml > FOLDER/tasks.jsonl',
  ],
};

/** `kind: toolsandbox`. */
export const toolsandboxKind = { kind: 'toolsandbox', schema, expand, starter } as const;
