import { z } from 'zod';
import { presetOptions, presetProcess, scriptedUser, simulatedUser, userWords } from './process-preset';
import type { ProcessSection } from './process';
import type { Starter } from './starter';

const schema = z.strictObject({
  kind: z.literal('tau2').describe('tau2-bench: customer service with a policy, tools and a simulated user.'),
  domain: z.enum(['airline', 'retail', 'telecom', 'telecom-workflow']).describe('Which desk the agent serves.'),
  user: z
    .union([
      simulatedUser,
      scriptedUser(
        ['gold', 'leaves', 'tells'],
        "the user plays the gold actions, leaves after two of the agent's texts, or tells what its instructions say, " +
          'part by part, and agrees.',
      ),
    ])
    .describe('Who plays the user.'),
  taskFile: z
    .string()
    .min(1)
    .max(4000)
    .optional()
    .describe("Other tasks of the domain, in tau2's format, with their splits in split_NAME.json beside the file."),
  ...presetOptions,
});
type Tau2Section = z.infer<typeof schema>;

function expand(section: Tau2Section): ProcessSection {
  const { domain, user, taskFile, ...shared } = section;
  const { words, secrets } = userWords(user, shared.seconds);
  const file = taskFile === undefined ? [] : ['--task-file', taskFile];
  return presetProcess(shared, 'tau2', ['--domain', domain, ...file, ...words], { secrets });
}

const starter: Starter = {
  section: {
    domain: 'retail',
    venv: 'VENV',
    user: { baseUrl: 'http://127.0.0.1:8000/v1', model: 'MODEL' },
    tasks: 'tasks.jsonl',
  },
  before: [
    'WHET env add tau2',
    'put the path that it prints in place of VENV in FOLDER/agent.yaml, and the model that plays the user into user',
    'WHET env tasks FOLDER/agent.yaml > FOLDER/tasks.jsonl',
  ],
};

/** `kind: tau2`. */
export const tau2Kind = { kind: 'tau2', schema, expand, starter } as const;
