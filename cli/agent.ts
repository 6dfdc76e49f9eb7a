import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { AgentSpec } from '../contracts/config/agent-spec';
import { AgentSpecError, loadAgentSpec } from '../loaders/agent-spec';
import { CliError } from './errors';
import { projectRoot } from '../contracts/project-root';

/** An agent's checked spec and the absolute path of its agent.yaml. */
export interface Agent {
  path: string;
  spec: AgentSpec;
}

/**
 * Reads and checks an agent.yaml. @throws CliError (exit 2) with a line for each problem: path, value, what is allowed.
 */
export function readAgent(path: string): Agent {
  const absolute = resolve(path);
  try {
    return { path: absolute, spec: loadAgentSpec(absolute) };
  } catch (error) {
    if (!(error instanceof AgentSpecError)) throw error;
    throw new CliError(error.message, { exitCode: 2, type: 'Spec.Invalid', cause: error });
  }
}

/** The agent.yaml that is used where none is named: this directory's, else the demo's. Null when neither exists. */
export function defaultAgentPath(): string | null {
  const candidates = [resolve('agent.yaml'), join(projectRoot(), 'examples', 'orders-desk', 'agent.yaml')];
  return candidates.find((path) => existsSync(path)) ?? null;
}
