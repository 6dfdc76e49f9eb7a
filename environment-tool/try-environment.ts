import { tasksToTry, tryTasks } from '../activities/environment-checks/try-tasks';
import { openerWithPrograms } from '../activities/rollout/player';
import { printsTasks } from '../loaders/agent-spec';
import { openEnvironment } from '../sandbox';
import { writeLine, writeRanges } from './output';
import { readAgent } from './read-agent';

/**
 * Imports the owner's environment of an agent.yaml as a run does, and plays some of its train and held-out tasks: with
 * the reference solution, and with an agent that says nothing. Every request has the time limit of the profile.
 * @throws SandboxError, with the traceback in its message, when the environment fails; AgentSpecError.
 */
export async function tryEnvironment(agentPath: string): Promise<void> {
  const { spec, environment } = await readAgent(agentPath);
  if (printsTasks(spec)) writeRanges(spec);
  await tryTasks(openerWithPrograms(openEnvironment), environment.source, tasksToTry(spec.environment), {
    onLoad: async (loaded) => writeLine({ type: 'loaded', tools: (await loaded.describe()).tools }),
    onBegin: (task) => writeLine({ type: 'trying', ...task }),
    onEnd: (task) => writeLine({ type: 'tried', ...task }),
  });
}
