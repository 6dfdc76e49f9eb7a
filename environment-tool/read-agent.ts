import { dirname, resolve } from 'node:path';
import type { AgentSpec } from '../contracts/config/agent-spec';
import { originOfTasks } from '../contracts/config/environment-kinds';
import { AgentSpecError, loadAgentSpec, loadTasks, withNamedTasks } from '../loaders/agent-spec';
import {
  type OwnerEnvironment,
  ownerEnvironment,
  ownersCommand,
  placeOfEnvironment,
} from '../loaders/owner-environment';
import type { NamedTask } from '../loaders/task-lines';
import { printTasks } from '../activities/rollout/task-command';

/** An agent as a run would take it now. */
interface ReadAgent {
  spec: AgentSpec;
  /** Its named tasks; null: tasks have seeds alone. */
  tasks: NamedTask[] | null;
  environment: OwnerEnvironment;
}

/**
 * Reads an agent.yaml with its tasks. A command that prints them runs, in the jail of the agent's other commands.
 * @throws AgentSpecError if the file or its tasks cannot be used; SandboxError.
 */
export async function readAgent(agentPath: string): Promise<ReadAgent> {
  const written = loadAgentSpec(agentPath);
  const place = placeOfEnvironment(written, agentPath);
  const printed = await printedTasks(written, place, agentPath);
  const spec = printed === null ? written : withNamedTasks(written, printed, agentPath);
  const tasks = printed ?? loadTasks(written, dirname(resolve(agentPath)));
  return { spec, tasks, environment: ownerEnvironment(spec, place, tasks) };
}

/** The tasks that the agent's command prints; null: it has no such command. */
async function printedTasks(spec: AgentSpec, place: string, agentPath: string): Promise<NamedTask[] | null> {
  const origin = originOfTasks(spec.environment);
  const owner = ownersCommand(spec, place);
  if (origin === null || !('command' in origin) || owner === null) return null;
  // This process ends with the command line, and so does the command.
  const read = await printTasks(owner, origin, new AbortController().signal);
  if ('problems' in read) throw new AgentSpecError(agentPath, read.problems);
  return read.tasks;
}
