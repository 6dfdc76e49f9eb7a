import { paidBy } from '../activities/environment';
import { tasksToTry, tryTasks } from '../activities/environment-checks/try-tasks';
import { environmentOpener, programOf } from '../activities/rollout/player';
import { tryProgram } from '../activities/rollout/program/try-program';
import { parseAgentSpec, printsTasks } from '../loaders/agent-spec';
import { type EnvironmentSource, openEnvironment } from '../sandbox';
import { writeLine, writeRanges } from './output';
import { readAgent } from './read-agent';
import { refusedInRuns } from './refused-in-runs';

/**
 * Imports the owner's environment of an agent.yaml as a run does, and plays some of its train and held-out tasks: with
 * the reference solution, and with an agent that says nothing. Every request has the time limit of the profile. A
 * program plays one train task to its result.
 * @param seconds most for the command of a program, where agent.yaml allows more.
 * @throws SandboxError, with the traceback in its message, when the environment fails; AgentSpecError.
 */
export async function tryEnvironment(agentPath: string, seconds = Infinity): Promise<void> {
  const refused = refusedInRuns(parseAgentSpec(agentPath), agentPath);
  if (refused !== null) writeLine({ type: 'refused', words: refused });
  const { spec, environment } = await readAgent(agentPath);
  if (printsTasks(spec)) writeRanges(spec);
  const source = within(environment.source, seconds);
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

/** The environment, whose program has at most so many seconds for an episode. */
function within(source: EnvironmentSource, most: number): EnvironmentSource {
  const program = programOf(source);
  if (program === null) return source;
  const { launch } = program;
  return {
    ...program,
    launch: { ...launch, seconds: { ...launch.seconds, episode: Math.min(most, launch.seconds.episode) } },
  };
}
