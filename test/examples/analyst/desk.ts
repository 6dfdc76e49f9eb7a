import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { z } from 'zod';
import { chatMessageSchema, type Trajectory, trajectorySchema } from '../../../contracts/artifacts/trajectory';
import { pythonInterpreter } from '../../../sandbox/python-interpreter';

const root = join(__dirname, '../../..');

/** Directory of the demo analyst's capabilities and modules. */
export const ANALYST_ASSETS = join(root, 'examples/orders-desk/analyst');

const lineSchema = z.object({
  seed: z.int(),
  messages: z.array(chatMessageSchema),
  success: z.boolean(),
  diagnostics: trajectorySchema.shape.diagnostics,
});

/**
 * Trajectories of the real orders desk, played by its scripted expert with the planted deficits, with their ground
 * truth.
 */
export function demonstrations(count: number): Trajectory[] {
  const output = execFileSync(pythonInterpreter(), ['-B', join(__dirname, 'demonstrations.py'), root, String(count)], {
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  });
  return output
    .trim()
    .split('\n')
    .map((line) => lineSchema.parse(JSON.parse(line)))
    .map(({ seed, messages, success, diagnostics }) => ({
      id: createHash('sha256')
        .update(JSON.stringify([seed, messages]))
        .digest('hex'),
      task: { seed, split: 'train' },
      trial: 0,
      model: 'expert',
      samplingSeed: seed,
      messages,
      reward: success ? 1 : 0,
      success,
      finish: 'done',
      steps: messages.filter(({ tool_calls }) => tool_calls).length,
      usage: { promptTokens: 0, completionTokens: 0, cachedTokens: 0 },
      tags: [],
      diagnostics,
    }));
}
