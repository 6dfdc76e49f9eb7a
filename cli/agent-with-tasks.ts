import type { AgentSpec } from '../contracts/config/agent-spec';
import type { EnvironmentToolLine } from '../contracts/messages/environment-tool';
import { printsTasks } from '../loaders/agent-spec';
import { type Agent, readAgent } from './agent';
import { CliError } from './errors';
import { runEnvironmentTool } from './run-environment-tool';

/**
 * Reads and checks an agent.yaml with the ranges of its tasks. Where a command prints them, it is run.
 * @throws CliError (exit 2) with a line for each problem.
 */
export async function readAgentWithTasks(path: string): Promise<Agent> {
  const agent = readAgent(path);
  if (!printsTasks(agent.spec)) return agent;
  let { spec } = agent;
  try {
    await runEnvironmentTool(['ranges', agent.path], (line) => {
      if (line.type === 'ranges') spec = withRanges(spec, line);
    });
  } catch (error) {
    throw refusedTasks(error) ?? error;
  }
  return { ...agent, spec };
}

/** The spec with the ranges of its named tasks. */
export function withRanges(
  spec: AgentSpec,
  { trainSeeds, heldOutSeeds }: Extract<EnvironmentToolLine, { type: 'ranges' }>,
): AgentSpec {
  return { ...spec, environment: { ...spec.environment, trainSeeds, heldOutSeeds } };
}

/** The error (exit 2) for an agent.yaml, or tasks of it, that `environment-tool` refused; null for other errors. */
export function refusedTasks(error: unknown): CliError | null {
  if (!(error instanceof CliError) || error.type !== 'Spec.Invalid') return null;
  return new CliError(error.message, { exitCode: 2, type: 'Spec.Invalid', cause: error });
}
