import { resolve } from 'node:path';
import { refusedTasks } from '../agent-with-tasks';
import type { Context } from '../context';
import { CliError } from '../errors';
import { runEnvironmentTool } from '../run-environment-tool';

/**
 * `whet env tasks AGENT_YAML`: asks the agent's process for its named tasks, and prints them as the lines of the file
 * that `environment.tasks` names. That file need not exist yet.
 * @throws CliError (exit 2) for a wrong agent.yaml, and where no process knows the tasks.
 */
export async function envTasksCommand({ out }: Context, agentPath: string): Promise<void> {
  let tasks: readonly object[] | null = null;
  const code = await runEnvironmentTool(['tasks', resolve(agentPath)], (line) => {
    if (line.type === 'tasks') ({ tasks } = line);
  }).catch((error: unknown) => {
    throw refusedTasks(error) ?? error;
  });
  if (code !== 0) throw new CliError(`The tasks could not be read: code ${code}.`, { type: 'Env.Failed' });
  if (tasks === null)
    throw new CliError(`The process of ${agentPath} has no named tasks: every seed is one of its tasks.`, {
      type: 'Env.NoTasks',
    });
  out.result(tasks, (tasks as object[]).map((task) => JSON.stringify(task)).join('\n'));
}
