import type { AgentSpec } from '../../contracts/config/agent-spec';
import type { EnvironmentCall, EnvironmentTool } from '../../contracts/messages/environment-protocol';
import { SandboxError } from '../../sandbox';
import type { EnvironmentSource, OpenEnvironment } from '../environment';
import { MAX_PROCESS_FAULTS } from '../rollout';
import { RestartingEnvironment, isProcessFault } from '../rollout/restarting-environment';
import { againIfKilled, isOutsideFault } from '../killed-environment';
import { mapInParallel } from '../in-parallel';
import { type EnvironmentTask, promptOf, readTasks, TASKS_AT_ONCE } from './environment-task';
import { type Format, learnFormat } from './observation-format';
import { openEpisode, play } from './play';
import { malformedCalls, policyView, randomCalls } from './scripted-policies';

/** What the checks compare a synthesised environment with: the facts about the agent's own environment. */
export interface TargetProfile {
  tools: EnvironmentTool[];
  /** Form of each tool's observations, by tool; a tool that never answered is absent. */
  formats: Map<string, Format>;
  /**
   * Form of the answers to calls of tools that do not exist. Any tool may answer in this form to a call that it does
   * not understand.
   */
  refusal: Format | undefined;
  /** The first train tasks. */
  tasks: EnvironmentTask[];
  /** What each train task asks. */
  train: string[];
  /** What each held-out task asks. */
  heldOut: string[];
}

/** The environment to read, and its seeds. */
interface ProfileOptions {
  openEnvironment: OpenEnvironment;
  environment: EnvironmentSource;
  spec: Pick<AgentSpec['environment'], 'trainSeeds' | 'heldOutSeeds'>;
  signal: AbortSignal;
}

/** Train tasks on which scripts are played, to see what the tools answer. */
const PLAYED_TASKS = 60;
/** Tasks of each split whose openings are read. */
const MAX_OPENINGS = 1000;

/**
 * Reads the profile of the agent's environment: what train and held-out tasks ask, and what tools answer to right,
 * random and malformed calls. Of a held-out task it reads the opening only, and uses it only for comparison.
 *
 * A script in which the environment raises shows nothing. When the process ends, other scripts end with it; all of
 * these are played again one by one. Malformed calls are played last, always one by one.
 * @throws SandboxError when the environment does not start, describe itself or open a task, or when its process ends in
 *   more than `MAX_PROCESS_FAULTS` scripts of well-formed calls; the signal's reason.
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
  const tasks = await readTasks(environment, seedsOf(spec.trainSeeds).slice(0, PLAYED_TASKS), signal);
  const openings = (seeds: readonly number[]): Promise<string[]> =>
    mapInParallel(seeds, TASKS_AT_ONCE, signal, async (seed) => {
      const { episode, messages } = await openEpisode(environment, seed);
      await environment.drop(episode);
      return promptOf({ messages });
    });
  const train = [...tasks.map(promptOf), ...(await openings(seedsOf(spec.trainSeeds).slice(PLAYED_TASKS)))];
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
  tasks: readonly EnvironmentTask[],
  signal: AbortSignal,
): Promise<Pick<TargetProfile, 'formats' | 'refusal'>> {
  const wellFormed = tasks.flatMap((task): Script[] => [
    { seed: task.seed, calls: task.reference },
    { seed: task.seed, calls: randomCalls(policyView(task, tools)) },
  ]);
  // The answer to a malformed call hardly depends on the task: one task is enough.
  const malformed = malformedCalls(tools).map((call): Script => ({ seed: tasks[0]!.seed, calls: [call] }));
  const scripts = [...wellFormed, ...malformed];
  const seen = [
    ...(await mapInParallel(wellFormed, TASKS_AT_ONCE, signal, (script) => observationsOf(restarting, script, signal))),
  ];
  let ended = 0;
  for (const [index, script] of scripts.entries()) {
    if (index < wellFormed.length && !(seen[index] instanceof SandboxError)) continue;
    if (index >= wellFormed.length && ended > MAX_PROCESS_FAULTS) break;
    const observations = await againIfKilled(async () => {
      const seenNow = await observationsOf(restarting, script, signal);
      if (isOutsideFault(seenNow)) throw seenNow as SandboxError;
      return seenNow;
    }, signal);
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

/** Plays a script: its observations, none if the environment raised, or the error that ended the process. */
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
