import { parseAgentSpec } from '../loaders/agent-spec';
import { ownerEnvironment, placeOfEnvironment } from '../loaders/owner-environment';
import { openEnvironment, SandboxError } from '../sandbox';
import { writeLine } from './output';

/**
 * Asks the process of an agent.yaml for its named tasks. The file of tasks need not exist.
 * @throws AgentSpecError; SandboxError, also for an environment that is no process.
 */
export async function listTasks(agentPath: string): Promise<void> {
  const spec = parseAgentSpec(agentPath);
  const { source } = ownerEnvironment(spec, placeOfEnvironment(spec, agentPath), null);
  const opened = await openEnvironment(source);
  try {
    if (opened.namedTasks === undefined)
      throw new SandboxError('Sandbox.BadRequest', `${agentPath}: only a process knows the names of its tasks.`);
    writeLine({ type: 'tasks', tasks: await opened.namedTasks() });
  } finally {
    await opened.close();
  }
}
