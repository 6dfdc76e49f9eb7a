import type { AgentSpec } from '../../contracts/config/agent-spec';
import type { EnvironmentTool } from '../../contracts/messages/environment-protocol';
import { startOf } from '../../contracts/clean-text';
import { SandboxError } from '../../sandbox';
import { factsOf, type OpenEnvironment, type PaidSource } from '../environment';
import { MAX_PROCESS_FAULTS } from '../rollout';
import { RestartingEnvironment, isProcessFault, mapAloneIfLost } from '../rollout/restarting-environment';
import { isTaskFailure } from '../failed-task';
import { againIfKilled, isOutsideFault } from '../killed-environment';
import { mapInParallel } from '../in-parallel';
import { type EnvironmentTask, promptOf, readTask, systemOf, TASKS_AT_ONCE } from './environment-task';
import { type JudgedVariation, type Judgement, judgementOf, judgeVariations } from './judged-variations';
import { asCall } from './moves';
import { type Format, learnFormat } from './observation-format';
import { openEpisode, play, type Script } from './play';
import { malformedCalls, policyView, randomCalls } from './scripted-policies';
import type { SolvedOpening } from './solution-forms';
import { familyOf } from './variation-parts';
import { materialOf } from './variations';

/** Facts about the agent's own environment, which the checks compare with a synthesised one. */
export interface TargetProfile {
  tools: EnvironmentTool[];
  /** Whether it has `say`, and so answers words of the agent. */
  hasSay: boolean;
  /** Form of each tool's observations, by tool; a tool that never answered is absent. */
  formats: Map<string, Format>;
  /**
   * Form of the answers to calls of tools that do not exist. Any tool may use this form for a call that it does not
   * understand.
   */
  refusal: Format | null;
  /** Malformed calls with their answers, one for each different answer. */
  refused: RefusedCall[];
  /** The first train tasks. */
  tasks: EnvironmentTask[];
  /** The distinct system messages of train tasks. */
  system: string[];
  /** Requests and solutions of train tasks, with the answers to their moves. */
  solved: SolvedOpening[];
  /** The environment's verdicts on changed solutions. */
  judgement: Judgement;
  /** The request of each train task. */
  train: string[];
  /** The request of each held-out task. */
  heldOut: string[];
}

/** A call that the environment cannot understand, and its answer. */
interface RefusedCall {
  name: string;
  /** JSON. */
  arguments: string;
  observation: string;
}

/** The environment to read, and its seeds. */
interface ProfileOptions {
  openEnvironment: OpenEnvironment;
  environment: PaidSource;
  spec: Pick<AgentSpec['environment'], 'trainSeeds' | 'heldOutSeeds'>;
  signal: AbortSignal;
}

/** Number of train tasks with random calls, to learn the tools' answers. */
const PLAYED_TASKS = 60;
/** Number of train tasks whose solutions are read. */
const SOLVED_TASKS = 300;
/** Largest number of train tasks whose solutions are changed: for each family, and in total. */
const VARIED_OF_FAMILY = 6;
const VARIED_TASKS = 90;
/** Number of these that are played at a time. If one ends the process, all of them end. */
const VARIED_AT_ONCE = 8;
/**
 * Time limit in milliseconds, so that a slow environment does not delay every validation; its remaining variations stay
 * unknown.
 */
const VARIATIONS_MS = 60_000;
/** Number of tasks of each split whose openings are read. */
const MAX_OPENINGS = 1000;
/** The same of an environment that pays for its episodes, and number of its tasks that are played. */
const PAID_OPENINGS = 30;
const PAID_TASKS = 8;

/**
 * Reads the profile of the agent's environment: the requests of train and held-out tasks, and the tools' answers to
 * right, random and malformed calls. It reads only the opening of a held-out task, and uses it only for comparison.
 *
 * A script in which the environment raises an exception is ignored. If the process ends, the scripts that it was
 * playing are repeated one by one. Malformed calls are played last, always one by one.
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
  // A hanging environment must not delay a cancellation.
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
  const { tools, hasSay } = await environment.describe();
  const { costsTokens, hasReferences } = factsOf(environment);
  const solvedTasks = costsTokens ? PAID_TASKS : SOLVED_TASKS;
  const seedsOf = ({ start, count }: { start: number; count: number }): number[] =>
    Array.from({ length: Math.min(count, costsTokens ? PAID_OPENINGS : MAX_OPENINGS) }, (_, i) => start + i);
  const read = await ofPlayable(seedsOf(spec.trainSeeds).slice(0, solvedTasks), signal, (seed) =>
    readTask(environment, seed),
  );
  const tasks = read.slice(0, PLAYED_TASKS).map(({ hidden: _hidden, ...task }) => task);
  const openings = (seeds: readonly number[]): Promise<string[]> =>
    ofPlayable(seeds, signal, async (seed) => {
      const { episode, messages } = await openEpisode(environment, seed);
      await environment.drop(episode);
      return promptOf({ messages });
    });
  const train = [...read.map(promptOf), ...(await openings(seedsOf(spec.trainSeeds).slice(solvedTasks)))];
  const heldOut = await openings(seedsOf(spec.heldOutSeeds));
  const system = [...new Set(read.map(systemOf))].filter((text) => text !== '');
  const { formats, refusal, refused, answers } = await observedFormats(restarting, tools, read, signal);
  // Without solutions there is nothing to compare a synthesised environment's solutions with.
  const solvedOf = hasReferences ? read : [];
  const solved = solvedOf.map((task, index) => ({
    prompt: promptOf(task),
    reference: task.reference,
    observations: answers[index] ?? [],
  }));
  const judgement = await judgementOfTarget(restarting, { tools, tasks: solvedOf, refusal }, signal);
  return { tools, hasSay, tasks, system, solved, judgement, train, heldOut, formats, refusal, refused };
}

/**
 * Reads tasks, without those that fail because of something other than the environment's code, such as a simulator.
 * Rejects with such a failure if they all fail.
 */
async function ofPlayable<T>(
  seeds: readonly number[],
  signal: AbortSignal,
  readOne: (seed: number) => Promise<T>,
): Promise<T[]> {
  let failure: SandboxError | null = null;
  const found = await mapAloneIfLost(seeds, TASKS_AT_ONCE, signal, async (seed) => {
    try {
      return [await readOne(seed)];
    } catch (error) {
      if (!isTaskFailure(error)) throw error;
      failure = error;
      return [];
    }
  });
  const read = found.flat();
  if (read.length === 0 && failure !== null) throw failure as SandboxError;
  return read;
}

/** A few tasks of every family, with the most frequent families first. */
function variedTasks(tasks: readonly EnvironmentTask[]): EnvironmentTask[] {
  return [...Map.groupBy(tasks, familyOf).values()]
    .sort((a, b) => b.length - a.length)
    .flatMap((family) => family.slice(0, VARIED_OF_FAMILY))
    .slice(0, VARIED_TASKS);
}

/** Plays changed solutions. A change that ends the process or exceeds the time limit stays unknown. */
async function judgementOfTarget(
  restarting: RestartingEnvironment,
  { tools, tasks, refusal }: Pick<TargetProfile, 'tools' | 'tasks' | 'refusal'>,
  signal: AbortSignal,
): Promise<Judgement> {
  const material = materialOf(tools, tasks);
  const deadline = performance.now() + VARIATIONS_MS;
  const judged: JudgedVariation[] = [];
  const varied = variedTasks(tasks);
  for (let next = 0, ended = 0; next < varied.length && ended <= MAX_PROCESS_FAULTS; next += VARIED_AT_ONCE) {
    if (performance.now() > deadline) break;
    const some = varied.slice(next, next + VARIED_AT_ONCE);
    try {
      judged.push(
        ...(await againIfKilled(
          async () => judgeVariations(await restarting.running(), some, material, refusal, signal),
          signal,
        )),
      );
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof SandboxError) || isOutsideFault(error)) throw error;
      ended++;
    }
  }
  return judgementOf(judged);
}

/** Plays solutions, random calls and malformed calls. `answers` has the observations of each task's solution. */
async function observedFormats(
  restarting: RestartingEnvironment,
  tools: EnvironmentTool[],
  tasks: readonly EnvironmentTask[],
  signal: AbortSignal,
): Promise<Pick<TargetProfile, 'formats' | 'refusal' | 'refused'> & { answers: string[][] }> {
  const solutions = tasks.map((task): Script => ({ seed: task.seed, moves: task.reference }));
  const random = tasks
    .slice(0, PLAYED_TASKS)
    .map((task): Script => ({ seed: task.seed, moves: randomCalls(policyView(task, tools)) }));
  const wellFormed = [...solutions, ...random];
  // The answer to a malformed call hardly depends on the task, so one task is enough.
  const malformed = malformedCalls(tools).map((call): Script => ({ seed: tasks[0]!.seed, moves: [call] }));
  const scripts = [...wellFormed, ...malformed];
  const seen = await mapInParallel(wellFormed, TASKS_AT_ONCE, signal, (script) =>
    observationsOf(restarting, script, signal),
  );
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
  let refusal: Format | null = null;
  for (const [index, observations] of seen.entries()) {
    if (observations instanceof SandboxError) continue;
    for (const [position, observation] of observations.entries()) {
      const { name } = asCall(scripts[index]!.moves[position]!);
      if (known.has(name)) formats.set(name, learnFormat(formats.get(name), observation));
      else refusal = learnFormat(refusal, observation);
    }
  }
  const answers = seen
    .slice(0, tasks.length)
    .map((observations) => (observations instanceof SandboxError ? [] : observations));
  return { formats, refusal, refused: refusedCalls(malformed, seen.slice(wellFormed.length)), answers };
}

/** Longest shown arguments and answers of a malformed call, in characters. */
const MAX_REFUSED_CHARS = 200;

/** The first malformed call with each answer. What ended the process has none. */
function refusedCalls(scripts: readonly Script[], seen: readonly (string[] | SandboxError)[]): RefusedCall[] {
  const byAnswer = new Map<string, RefusedCall>();
  for (const [index, observations] of seen.entries()) {
    const [observation] = observations instanceof SandboxError ? [] : observations;
    const call = asCall(scripts[index]!.moves[0]!);
    if (observation === undefined || call.name === '' || byAnswer.has(observation)) continue;
    byAnswer.set(observation, {
      name: call.name,
      arguments: startOf(JSON.stringify(call.arguments), MAX_REFUSED_CHARS),
      observation: startOf(observation, MAX_REFUSED_CHARS),
    });
  }
  return [...byAnswer.values()];
}

/** Plays a script. Returns its observations, none if the environment raised, or the error that ended the process. */
async function observationsOf(
  restarting: RestartingEnvironment,
  { seed, moves }: Script,
  signal: AbortSignal,
): Promise<string[] | SandboxError> {
  try {
    return (await play(await restarting.running(), seed, moves)).observations;
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof SandboxError)) throw error;
    return isProcessFault(error) ? error : [];
  }
}
