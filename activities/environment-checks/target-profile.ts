import type { AgentSpec } from '../../contracts/config/agent-spec';
import type { EnvironmentCall, EnvironmentTool } from '../../contracts/messages/environment-protocol';
import { SandboxError } from '../../sandbox';
import type { EnvironmentSource, OpenEnvironment } from '../environment';
import { MAX_PROCESS_FAULTS } from '../rollout';
import { RestartingEnvironment, isProcessFault } from '../rollout/restarting-environment';
import { mapInParallel } from '../in-parallel';
import { AT_ONCE, type ExaminedTask, examineTasks, promptOf, viewOf } from './examination';
import { type Format, learnFormat } from './observation-format';
import { openEpisode, play } from './play';
import { clumsyCalls, randomCalls } from './scripted-policies';

/**
 * What the agent's own environment looks like, as far as an environment for one of its capabilities is compared with
 * it.
 */
export interface TargetProfile {
  tools: EnvironmentTool[];
  /** Of each tool's observations, for as many tools as were seen to answer. */
  formats: Map<string, Format>;
  /**
   * Of what it answers to a call of a tool that does not exist: what any tool may answer to a call that it does not
   * understand.
   */
  refusal: Format | undefined;
  /** The first train tasks. */
  tasks: ExaminedTask[];
  /** What train tasks and what held-out tasks ask. */
  train: string[];
  heldOut: string[];
}

/** What a profile is read off. */
export interface ProfileOptions {
  openEnvironment: OpenEnvironment;
  environment: EnvironmentSource;
  spec: Pick<AgentSpec['environment'], 'trainSeeds' | 'heldOutSeeds'>;
  signal: AbortSignal;
}

/** Train tasks whose reference solutions and clumsy variants show what tools answer. */
const TRAIN_TASKS = 60;
const MAX_OPENINGS = 1000;

/**
 * Reads the profile off the agent's environment: what train and held-out tasks ask, and what tools answer to right,
 * random and malformed calls. Nothing of the held-out tasks but their opening is read, and it goes nowhere but into a
 * comparison.
 *
 * An exception costs what the script would have shown. So does the end of the process, which takes other scripts along:
 * those are played again one by one. Malformed calls come last and one by one from the start.
 * @throws SandboxError where the environment does not start, describe itself or open a task, or ends in more scripts of
 *   well-formed calls than a set of rollouts puts up with; the signal's reason.
 */
export async function readTargetProfile({
  openEnvironment,
  environment,
  spec,
  signal,
}: ProfileOptions): Promise<TargetProfile> {
  const restarting = new RestartingEnvironment(openEnvironment, environment);
  // A hanging environment must not hold up a cancellation.
  const close = (): void => void restarting.close();
  signal.addEventListener('abort', close, { once: true });
  try {
    signal.throwIfAborted();
    return await read(restarting, spec, signal);
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  } finally {
    signal.removeEventListener('abort', close);
    await restarting.close();
  }
}

async function read(
  restarting: RestartingEnvironment,
  spec: ProfileOptions['spec'],
  signal: AbortSignal,
): Promise<TargetProfile> {
  const environment = await restarting.running();
  const { tools } = await environment.describe();
  const tasks = await examineTasks(environment, seedsOf(spec.trainSeeds).slice(0, TRAIN_TASKS), signal);
  const openings = (seeds: readonly number[]): Promise<string[]> =>
    mapInParallel(seeds, AT_ONCE, signal, async (seed) => {
      const { episode, messages } = await openEpisode(environment, seed);
      await environment.drop(episode);
      return promptOf({ messages });
    });
  const train = [...tasks.map(promptOf), ...(await openings(seedsOf(spec.trainSeeds).slice(TRAIN_TASKS)))];
  const heldOut = await openings(seedsOf(spec.heldOutSeeds));
  return { tools, tasks, train, heldOut, ...(await observedFormats(restarting, tools, tasks, signal)) };
}

const seedsOf = ({ start, count }: { start: number; count: number }): number[] =>
  Array.from({ length: Math.min(count, MAX_OPENINGS) }, (_, i) => start + i);

interface Script {
  seed: number;
  calls: EnvironmentCall[];
}

async function observedFormats(
  restarting: RestartingEnvironment,
  tools: EnvironmentTool[],
  tasks: readonly ExaminedTask[],
  signal: AbortSignal,
): Promise<Pick<TargetProfile, 'formats' | 'refusal'>> {
  const wellFormed = tasks.flatMap((task): Script[] => [
    { seed: task.seed, calls: task.reference },
    { seed: task.seed, calls: randomCalls(viewOf(task, tools)) },
  ]);
  // They are answered alike whatever the task.
  const malformed = clumsyCalls(tools).map((call): Script => ({ seed: tasks[0]!.seed, calls: [call] }));
  const scripts = [...wellFormed, ...malformed];
  const seen = [
    ...(await mapInParallel(wellFormed, AT_ONCE, signal, (script) => observationsOf(restarting, script, signal))),
  ];
  let ended = 0;
  for (const [index, script] of scripts.entries()) {
    if (index < wellFormed.length && !(seen[index] instanceof SandboxError)) continue;
    if (index >= wellFormed.length && ended > MAX_PROCESS_FAULTS) break;
    const observations = await observationsOf(restarting, script, signal);
    seen[index] = observations;
    if (!(observations instanceof SandboxError)) continue;
    ended++;
    if (index < wellFormed.length && ended > MAX_PROCESS_FAULTS) throw observations;
  }
  const known = new Set(tools.map((tool) => tool.function.name));
  const formats = new Map<string, Format>();
  let refusal: Format | undefined;
  for (const [index, observations] of seen.entries()) {
    if (observations instanceof SandboxError) continue;
    for (const [position, observation] of observations.entries()) {
      const { name } = scripts[index]!.calls[position]!;
      if (known.has(name)) formats.set(name, learnFormat(formats.get(name), observation));
      else refusal = learnFormat(refusal, observation);
    }
  }
  return { formats, refusal };
}

/** Empty where the environment raised; the error where its process ended. */
async function observationsOf(
  restarting: RestartingEnvironment,
  { seed, calls }: Script,
  signal: AbortSignal,
): Promise<string[] | SandboxError> {
  try {
    return (await play(await restarting.running(), seed, calls)).observations;
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof SandboxError)) throw error;
    return isProcessFault(error) ? error : [];
  }
}
