import { dirname, resolve } from 'node:path';
import { cleanBlock } from '../../contracts/clean-text';
import {
  fieldOfPlayer,
  isPlayable,
  modulePath,
  NOTHING_PLAYS,
  playedAs,
} from '../../contracts/config/environment-kinds';
import { isModelsFault, outcomeOfProgram, problemOfProgram, type ProgramTrial } from '../../contracts/program-trial';
import { problemOfTrials, taskName, type TaskTrial } from '../../contracts/solvable-tasks';
import { tooFewConversations } from '../../contracts/too-few-conversations';
import { LocalStore } from '../../store';
import { type Agent, readAgent } from '../agent';
import { refusedTasks, withRanges } from '../agent-with-tasks';
import { missingModel, unsureModel } from '../base-model-folder';
import type { Context } from '../context';
import { readIngestedOf } from '../conversations';
import { modelServerProblem } from '../model-server';
import { runEnvironmentTool } from '../run-environment-tool';
import { CliError } from '../errors';
import { tellWait } from '../tell-wait';
import { unsentKeyWarning } from '../unsent-key-warning';
import { unsignedNoticesWarning } from '../unsigned-notices-warning';

/** Flags of `whet validate`. */
export interface ValidateFlags {
  /** false: `--no-run`. */
  run: boolean;
  /** Longest time for a program's one task, where agent.yaml allows more. */
  seconds?: number;
}

const NO_RUN = '`whet validate --no-run` checks agent.yaml alone.';

/**
 * `whet validate AGENT_YAML [--no-run] [--seconds N]`: checks the file, imports the environment that it names and
 * plays some train and held-out tasks with their reference solutions; a program plays one train task with a model that
 * only says that it cannot help. With --json it prints the file with all defaults, and what was played. `--no-run`
 * executes nothing of the environment. It warns about a model.path that is not set, or not on this machine; success
 * without saying anything; a solution with more moves than the agent has turns; too few rollouts for a run; a planted
 * deficit whose id no task names; unsigned notices; a server that may give no tokens; a model server that does not
 * answer, or serves another model; a key that a worker would not send; and commands that the operator's policy does not
 * allow in a run. Where nothing is played, it says what works on the conversations.
 * @throws CliError (exit 2) when model.path is no model, with file, line and exception when the environment fails, and
 *   with seed, reward and moves when a reference solution does not succeed; with the program's own words when it has no
 *   result.
 */
export async function validateCommand(
  { settings, out }: Context,
  path: string,
  { run, seconds }: ValidateFlags,
): Promise<void> {
  const written = readAgent(path);
  if (!isPlayable(written.spec.environment)) return validateConversations({ settings, out }, written);
  const { agent, tools, tried, program, refused } = run
    ? await tryEnvironment(written, seconds)
    : { agent: written, tools: [], tried: [], program: null, refused: null };
  const { spec, path: absolute } = agent;
  refuseTried(agent, tried);
  refuseProgram(agent, program, seconds);
  const hasSolutions = tried.some(({ reward }) => reward !== null);
  const outcome = hasSolutions
    ? `the reference solutions of ${tasksOf(tried)} succeed`
    : `${tasksOf(tried)} can be played; it has no reference solutions`;
  const played = run ? `, its environment starts; ${outcome}; tools: ${tools.join(', ') || 'none'}` : '';
  const valid = `(agent ${spec.name}${played})`;
  // Last, because all else can be checked without the weights.
  const missing = missingModel(agent, settings);
  if (missing !== null)
    throw new CliError(`${missing}\nAll else is valid ${valid}.`, { exitCode: 2, type: 'Spec.Invalid' });
  const outcomes = [program && outcomeOfProgram(program)].filter((text) => text !== null);
  const unserved = run ? await modelServerProblem(spec) : null;
  const warnings = [
    unsureModel(agent, settings),
    refused && `${absolute}: a worker with the variables of this shell refuses a run. ${refused}`,
    unsureProgram(agent, program),
    silentSuccess(agent, tried),
    trainedOn(agent, tried),
    longSolutions(agent, tried),
    tooFewRollouts(agent),
    unknownTruth(agent, tried),
    unsignedNoticesWarning(spec.notify),
    unsureTokens(agent),
    unserved && `${absolute}: ${unserved.text}`,
    unsentKeyWarning(spec),
  ].filter((text) => text !== null);
  out.result(
    {
      path: absolute,
      spec,
      ...(run && { tasks: tried }),
      ...(program && { program }),
      ...(warnings.length > 0 && { warning: warnings.join('\n') }),
    },
    [`${absolute}: valid ${valid}`, ...outcomes, ...warnings].join('\n'),
  );
}

/** What `whet validate` says of an agent of which there are conversations alone. */
async function validateConversations({ settings, out }: Context, { path, spec }: Agent): Promise<void> {
  const read = await readIngestedOf(new LocalStore(settings.storeRoot), spec);
  const { trajectories = [], counts = { withoutOutcome: 0 } } = read ?? {};
  const successes = trajectories.filter(({ success }) => success).length;
  const counted = { successes, failures: trajectories.length - successes, withoutOutcome: counts.withoutOutcome };
  const warnings = [
    tooFewConversations(counted, spec.identify.minEachOutcome),
    unsignedNoticesWarning(spec.notify),
    unsentKeyWarning(spec),
  ].filter((text) => text !== null);
  out.result(
    { path, spec, conversations: counted, ...(warnings.length > 0 && { warning: warnings.join('\n') }) },
    [
      `${path}: valid (agent ${spec.name}, ${trajectories.length} conversations with an outcome)`,
      `${path}: environment: ${NOTHING_PLAYS}`,
      ...warnings,
    ].join('\n'),
  );
}

/** The file that is the environment; the agent.yaml where a command is. */
const fileOf = ({ spec, path }: Agent): string => resolve(dirname(path), modulePath(spec.environment) ?? path);

/** A warning if the tokens of a server of the owner's own are to be kept; else null. */
function unsureTokens({ path, spec }: Agent): string | null {
  if (!spec.collect.tokens || spec.model.baseUrl === undefined) return null;
  return (
    `${path}: collect.tokens: the server at ${spec.model.baseUrl} must take return_token_ids, as vLLM does. One that ` +
    'does not is asked for answers alone: no training may use the episodes, and the report says so.'
  );
}

/** What the environment showed. */
interface Tried {
  agent: Agent;
  tools: string[];
  tried: TaskTrial[];
  /** Null: it is no program. */
  program: ProgramTrial | null;
  /** What a worker would refuse to run; null: nothing. */
  refused: string | null;
}

/**
 * Loads the agent's environment and plays it in a separate process. Returns the agent with the ranges of its tasks.
 * @throws CliError if it fails.
 */
async function tryEnvironment(agent: Agent, seconds?: number): Promise<Tried> {
  let { spec } = agent;
  let program: ProgramTrial | null = null;
  let refused: string | null = null;
  const tools: string[] = [];
  const tried: TaskTrial[] = [];
  let where = 'before its first move';
  using _ = tellWait(() => `${subjectOf(agent)} is waited for, ${where}. ${limitsOf(agent, seconds)} ${NO_RUN}`);
  try {
    const limit = seconds === undefined ? [] : [String(seconds)];
    await runEnvironmentTool(['try', agent.path, ...limit], (line) => {
      if (line.type === 'ranges') spec = withRanges(spec, line);
      if (line.type === 'loaded') tools.push(...line.tools.map((tool) => tool.function.name));
      if (line.type === 'trying') where = `while ${taskName(line)} is played`;
      if (line.type === 'tried') {
        const { type: _, ...task } = line;
        tried.push(task);
      }
      if (line.type === 'program') program = line.trial;
      if (line.type === 'refused') refused = line.words;
    });
  } catch (error) {
    if (!(error instanceof CliError)) throw error;
    const refused = refusedTasks(error);
    if (refused !== null) throw refused;
    // What is said of the command begins with the file and the field.
    const isOfField = error.message.startsWith(`${agent.path}: environment.`);
    const words = isOfField ? error.message : `${subjectOf(agent)} fails ${where}: ${error.message}`;
    const longer = /\bwithin \d+ s\b/.test(error.message) ? longerInRuns(agent.spec, seconds) : '';
    throw new CliError(`${words}\n${longer}Correct it; ${NO_RUN}`, { exitCode: 2, type: 'Env.Failed', cause: error });
  }
  return { agent: { ...agent, spec }, tools, tried, program, refused };
}

/** How long a task may take. */
function limitsOf({ spec: { environment } }: Agent, seconds?: number): string {
  const played = playedAs(environment);
  if ('processes' in played) {
    const { start, step, judge } = played.seconds;
    return `It has ${start} s to start, ${step} s for a step and ${judge} s for a reward (environment.seconds).`;
  }
  // Where there is none, the jail of a Python class ends it.
  if (!('seconds' in played)) return 'Each of its answers has a limit of some seconds.';
  if (longerInRuns({ environment }, seconds) !== '') return `It has ${seconds} s (--seconds).`;
  return `It has ${played.seconds.episode} s (environment.seconds.episode); --seconds N waits less.`;
}

/** A line that says how long a run waits for a program; empty if it waits no longer than --seconds lets it here. */
function longerInRuns({ environment }: Pick<Agent['spec'], 'environment'>, seconds = Infinity): string {
  const played = playedAs(environment);
  if (!('memoryPerEpisode' in played) || seconds >= played.seconds.episode) return '';
  return `A run allows it ${played.seconds.episode} s (environment.seconds.episode): let it have more here.\n`;
}

/** Where agent.yaml says what plays the tasks, and its file if that is another one. */
function subjectOf({ path, spec: { environment } }: Agent): string {
  const module = modulePath(environment);
  const command = 'command' in environment ? 'the command' : 'its process';
  const subject = module === null ? command : resolve(dirname(path), module);
  return `${path}: ${fieldOfPlayer(environment)}: ${subject}`;
}

/** `8 train and 8 held-out tasks`. */
function tasksOf(tried: readonly TaskTrial[]): string {
  const train = tried.filter(({ range }) => range === 'trainSeeds').length;
  return `${train} train and ${tried.length - train} held-out tasks`;
}

/** @throws CliError if the results of the tasks rule out a run. */
function refuseTried(agent: Agent, tried: readonly TaskTrial[]): void {
  const problem = problemOfTrials(tried, fileOf(agent), agent.spec.environment.successReward);
  if (problem === null) return;
  const field = fieldOfPlayer(agent.spec.environment);
  throw new CliError(`${agent.path}: ${field}: ${problem} ${NO_RUN}`, { exitCode: 2, type: 'Env.Failed' });
}

/** @throws CliError if a program played its task and has no result. */
function refuseProgram({ path, spec }: Agent, trial: ProgramTrial | null, seconds?: number): void {
  const problem = trial && problemOfProgram(trial);
  if (trial === null || problem === null || isModelsFault(trial)) return;
  const longer = trial.failure?.cause === 'deadline' ? longerInRuns(spec, seconds) : '';
  throw new CliError(`${path}: ${problem}\n${longer}Correct it; ${NO_RUN}`, { exitCode: 2, type: 'Env.Failed' });
}

/** A warning if a program has no result, and had asked for an answer of another form than a sentence; else null. */
function unsureProgram({ path }: Agent, trial: ProgramTrial | null): string | null {
  if (trial === null || !isModelsFault(trial)) return null;
  return cleanBlock(
    `${path}: ${problemOfProgram(trial)}\nThe program asked for an answer of another form ` +
      `(${trial.asked.join(', ')}), which this model does not give, so it may still play with yours.`,
  );
}

/** A warning if an agent that says nothing succeeds; else null. */
function silentSuccess({ path, spec }: Agent, tried: readonly TaskTrial[]): string | null {
  const silent = tried.filter(({ idleReward }) => idleReward !== null && idleReward >= spec.environment.successReward);
  const [first] = silent;
  if (first === undefined) return null;
  return (
    `${path}: ${fieldOfPlayer(spec.environment)}: an agent that says nothing succeeds in ${silent.length} of ${tried.length} tasks ` +
    `tried, such as task ${first.seed} of environment.${first.range} (reward ${first.idleReward}). Such tasks cannot show ` +
    'what an agent lacks: let evaluate ask for what the agent has to do.'
  );
}

/** A warning if a tried held-out task is also a train task; else null. */
function trainedOn({ path }: Agent, tried: readonly TaskTrial[]): string | null {
  const train = new Map(tried.filter(({ range }) => range === 'trainSeeds').map((task) => [task.sha256, task.seed]));
  const same = tried.filter(({ range, sha256 }) => range === 'heldOutSeeds' && train.has(sha256));
  const [first] = same;
  if (first === undefined) return null;
  return (
    `${path}: environment.heldOutSeeds: ${same.length} of the held-out tasks tried are train tasks as well, such as ` +
    `task ${first.seed}, which is task ${train.get(first.sha256)}. What was learned there proves nothing: let other ` +
    'seeds make other tasks.'
  );
}

/** A warning if a tried solution has more moves than the agent has turns; else null. */
function longSolutions({ path, spec }: Agent, tried: readonly TaskTrial[]): string | null {
  const { maxTurns } = spec.environment;
  const long = tried.filter(({ moves }) => moves > maxTurns);
  const [first] = long;
  if (first === undefined) return null;
  return (
    `${path}: environment.maxTurns: ${maxTurns}; the reference solutions of ${long.length} of ${tried.length} tasks tried ` +
    `have more moves, such as ${taskName(first)} with ${first.moves}. An agent that makes one move a turn cannot ` +
    'solve those: raise it.'
  );
}

/** A warning if a run would collect too few rollouts to contrast successes with failures. */
function tooFewRollouts({ path, spec }: Agent): string | null {
  const { collect, environment, identify } = spec;
  const rollouts = environment.trainSeeds.count * collect.trials;
  // `--no-run` does not run the command that prints the tasks.
  if (rollouts === 0) return null;
  if (rollouts >= 2 * identify.minEachOutcome) return null;
  return (
    `${path}: environment.trainSeeds.count: ${environment.trainSeeds.count}, with collect.trials ${collect.trials}: a ` +
    `run collects ${rollouts} rollouts, and contrasts at least ${identify.minEachOutcome} successes with as many ` +
    'failures (identify.minEachOutcome). Raise one of the first two, unless live traffic brings more.'
  );
}

/** A warning if an id of `groundTruth` is in no diagnostics of the tasks that were judged; else null. */
function unknownTruth({ path, spec }: Agent, trials: readonly TaskTrial[]): string | null {
  // A task that only the agent's own program plays is not judged here.
  const tried = trials.filter(({ idleReward }) => idleReward !== null);
  const seen = new Set(tried.flatMap(({ diagnostics }) => diagnostics));
  const unknown = (['planted', 'decoys'] as const).flatMap((field) =>
    (spec.groundTruth?.[field] ?? []).flatMap((id, i) => (seen.has(id) ? [] : [`groundTruth.${field}[${i}]: '${id}'`])),
  );
  if (unknown.length === 0 || tried.length === 0) return null;
  return (
    `${path}: ${unknown.join(', ')}: in no diagnostics of the ${tried.length} tasks tried, which name ` +
    `${[...seen].sort().join(', ') || 'none'}. A misspelt id is reported as missed; a rare one may be right.`
  );
}
