import { parseAgentSpec, printsTasks } from '../loaders/agent-spec';
import { ownerEnvironment, placeOfEnvironment } from '../loaders/owner-environment';
import { openEnvironment, SandboxError } from '../sandbox';
import { writeLine } from './output';
import { readAgent } from './read-agent';

/**
 * Lists the tasks that the command of an agent.yaml prints, in the order of their seeds. Without such a command it asks
 * the agent's process for its named tasks; the file of tasks need not exist.
 * @throws AgentSpecError; SandboxError, also for an environment that is no process.
 */
export async function listTasks(agentPath: string): Promise<void> {
  const spec = parseAgentSpec(agentPath);
  if (printsTasks(spec)) {
    const { tasks } = await readAgent(agentPath);
    writeLine({ type: 'tasks', tasks: tasks?.map(({ range: _, ...task }) => task) ?? null });
    return;
  }
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
