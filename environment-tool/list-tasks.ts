import type { AgentSpec } from '../contracts/config/agent-spec';
import { isPlayable, NOTHING_PLAYS, originOfTasks, playedAs } from '../contracts/config/environment-kinds';
import { AgentSpecError, parseAgentSpec, printsTasks } from '../loaders/agent-spec';
import { ownerEnvironment, placeOfEnvironment } from '../loaders/owner-environment';
import type { SpecProblem } from '../loaders/schema-problems';
import { openEnvironment } from '../sandbox';
import { writeLine } from './output';
import { readAgent } from './read-agent';

/**
 * Lists the tasks that the command of an agent.yaml prints, in the order of their seeds. Without such a command it asks
 * the agent's process for its named tasks; the file of tasks need not exist.
 * @throws AgentSpecError, also for an environment that is no process; SandboxError.
 */
export async function listTasks(agentPath: string): Promise<void> {
  const spec = parseAgentSpec(agentPath);
  if (!isPlayable(spec.environment))
    throw new AgentSpecError(agentPath, [{ path: 'environment', message: NOTHING_PLAYS }]);
  if (printsTasks(spec)) {
    const { tasks } = await readAgent(agentPath);
    writeLine({ type: 'tasks', tasks: tasks?.map(({ range: _, ...task }) => task) ?? null });
    return;
  }
  const { source } = ownerEnvironment(spec, placeOfEnvironment(spec, agentPath), null);
  if (!('processes' in playedAs(spec.environment))) throw new AgentSpecError(agentPath, [noProcess(spec)]);
  const opened = await openEnvironment(source);
  try {
    writeLine({ type: 'tasks', tasks: (await opened.namedTasks?.()) ?? null });
  } finally {
    await opened.close();
  }
}

/** Why there is no process to ask, and where the tasks are. */
function noProcess({ environment }: AgentSpec): SpecProblem {
  const path = 'environment.tasks';
  if (originOfTasks(environment) === null)
    return { path, message: 'is not set: every seed of trainSeeds and heldOutSeeds is a task, and none has a name.' };
  return {
    path,
    message:
      'is a file that you write, a line {"id": "...", "split": "train"} for each task: only processes know the names ' +
      'of their tasks. `{command}` in its place prints these lines.',
  };
}
