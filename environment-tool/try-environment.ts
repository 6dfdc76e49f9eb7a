import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { loadAgentSpec } from '../loaders/agent-spec';
import { openEnvironment } from '../sandbox';
import { writeLine } from './output';

/** Most moves that are played. */
const MOST_MOVES = 64;

/**
 * Imports the owner's environment of an agent.yaml as a run does, and plays its first train task with the reference
 * solution. Every request has the time limit of the profile. Throws SandboxError, with the traceback in its message,
 * when it fails.
 */
export async function tryEnvironment(agentPath: string): Promise<void> {
  const spec = loadAgentSpec(agentPath);
  const path = resolve(dirname(agentPath), spec.environment.path);
  const source = readFileSync(path, 'utf8');
  const environment = await openEnvironment({ source, trust: 'owner', name: path, agent: spec.name });
  try {
    const seed = spec.environment.trainSeeds.start;
    const { tools } = await environment.describe();
    const { messages } = await environment.reset('validate', seed);
    writeLine({ type: 'opening', seed, tools, messages });
    for (const move of (await environment.reference(seed)).slice(0, MOST_MOVES)) {
      const { done } =
        'text' in move ? await environment.say('validate', move.text) : await environment.step('validate', [move]);
      if (done) break;
    }
    const { reward } = await environment.evaluate('validate');
    writeLine({ type: 'end', seed, reward });
  } finally {
    await environment.close();
  }
}
