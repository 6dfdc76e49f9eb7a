import { paidBy } from '../activities/environment';
import { tasksToTry, tryTasks } from '../activities/environment-checks/try-tasks';
import { environmentOpener, programOf } from '../activities/rollout/player';
import { tryProgram } from '../activities/rollout/program/try-program';
import { printsTasks } from '../loaders/agent-spec';
import { openEnvironment } from '../sandbox';
import { writeLine, writeRanges } from './output';
import { readAgent } from './read-agent';

/**
 * Imports the owner's environment of an agent.yaml as a run does, and plays some of its train and held-out tasks: with
 * the reference solution, and with an agent that says nothing. Every request has the time limit of the profile. A
 * program plays one train task to its result.
 * @throws SandboxError, with the traceback in its message, when the environment fails; AgentSpecError.
 */
export async function tryEnvironment(agentPath: string): Promise<void> {
  const { spec, environment } = await readAgent(agentPath);
  if (printsTasks(spec)) writeRanges(spec);
  const { source } = environment;
  await tryTasks(environmentOpener(openEnvironment), paidBy(source, null), tasksToTry(spec.environment), {
    onLoad: async (loaded) => writeLine({ type: 'loaded', tools: (await loaded.describe()).tools }),
    onBegin: (task) => writeLine({ type: 'trying', ...task }),
    onEnd: (task) => writeLine({ type: 'tried', ...task }),
  });
  const program = programOf(source);
  if (program === null) return;
  writeLine({ type: 'trying', seed: program.firstSeed, range: 'trainSeeds' });
  writeLine({ type: 'program', trial: await tryProgram(program, spec) });
}
