import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { loadAgentSpec } from '../loaders/agent-spec';
import { openEnvironment } from '../sandbox';
import { writeLine } from './output';

/** Most calls of one request. */
const AT_ONCE = 64;

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
    const calls = await environment.reference(seed);
    if (calls.length > 0) await environment.step('validate', calls.slice(0, AT_ONCE));
    const { reward } = await environment.evaluate('validate');
    writeLine({ type: 'end', seed, reward });
  } finally {
    await environment.close();
  }
}
