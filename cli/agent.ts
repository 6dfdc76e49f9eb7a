import { existsSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { AGENT_NAME } from '../contracts/config/agent-name';
import type { AgentSpec } from '../contracts/config/agent-spec';
import { isPlayable, NOTHING_PLAYS } from '../contracts/config/environment-kinds';
import { AgentSpecError, loadAgentSpec } from '../loaders/agent-spec';
import { CliError, type CliErrorOptions } from './errors';
import { projectRoot } from '../contracts/project-root';

/** An agent's checked spec and the absolute path of its agent.yaml. */
export interface Agent {
  path: string;
  spec: AgentSpec;
}

/**
 * Reads and checks an agent.yaml. @throws CliError (exit 2) with a line for each problem: path, value and the allowed
 * values.
 */
export function readAgent(path: string): Agent {
  const absolute = resolve(path);
  refuseFolder(absolute);
  refusePython(absolute);
  try {
    return { path: absolute, spec: loadAgentSpec(absolute) };
  } catch (error) {
    if (!(error instanceof AgentSpecError)) throw error;
    throw new CliError(error.message, { exitCode: 2, type: 'Spec.Invalid', cause: error });
  }
}

/** @throws CliError (exit 2) for a folder; it names the agent.yaml in the folder, if there is one. */
function refuseFolder(path: string): void {
  // statSync throws for a path with a NUL.
  if (!existsSync(`${path}/.`)) return;
  const inside = join(path, 'agent.yaml');
  const hint = existsSync(inside) ? `Name the file in it: ${inside}` : 'There is no agent.yaml in it.';
  throw new CliError(`${path}: is a folder. ${hint}`, { exitCode: 2, type: 'Spec.Invalid' });
}

/** @throws CliError (exit 2) for a Python file; it names the agent.yaml near it, if there is one. */
function refusePython(path: string): void {
  if (!path.endsWith('.py') || !existsSync(path)) return;
  const near = agentPathNear(path);
  const hint = near === null ? 'Name an agent.yaml.' : `Name the agent.yaml near it: ${near}`;
  throw new CliError(`${path}: is a Python file. ${hint}`, { exitCode: 2, type: 'Spec.Invalid' });
}

/** @throws CliError (exit 2) with what to add, if nothing plays the agent's tasks. */
export function requirePlayable({ path, spec }: Agent): void {
  if (isPlayable(spec.environment)) return;
  throw new CliError(`${path}: environment: ${NOTHING_PLAYS}`, { exitCode: 2, type: 'Spec.Invalid' });
}

/**
 * The agent for an argument, which is the agent's name or its agent.yaml.
 * @throws CliError (exit 2), with `options`, for an argument that is neither.
 */
export function agentNamed(nameOrPath: string, options: CliErrorOptions): string {
  if (/\.ya?ml$/.test(nameOrPath) || nameOrPath.includes('/')) return readAgent(nameOrPath).spec.name;
  if (AGENT_NAME.test(nameOrPath)) return nameOrPath;
  throw new CliError(
    `${JSON.stringify(nameOrPath)} is neither the name of an agent (lower-case letters, digits and dashes) nor an ` +
      'agent.yaml.',
    options,
  );
}

/** The default agent.yaml: this directory's, else the demo's. Null if neither exists. */
export function defaultAgentPath(): string | null {
  const candidates = [resolve('agent.yaml'), join(projectRoot(), 'examples', 'orders-desk', 'agent.yaml')];
  return candidates.find((path) => existsSync(path)) ?? null;
}

/** Number of parent folders of a file that are searched for an agent.yaml, as for `AGENT/analyst/environments/FILE`. */
const NEAR = 3;

/** The agent.yaml in a file's folder, or in one of the three above it. Null if there is none. */
export function agentPathNear(file: string): string | null {
  let folder = dirname(resolve(file));
  for (let above = 0; above <= NEAR; above++, folder = dirname(folder)) {
    const path = join(folder, 'agent.yaml');
    if (existsSync(path)) return path;
  }
  return null;
}
