import { dirname, resolve } from 'node:path';
import { type AgentSpec, agentSpecSchema } from '../contracts/config/agent-spec';
import { isPlayable, modulePath, originOfTasks } from '../contracts/config/environment-kinds';
import { pricesOf } from '../contracts/artifacts/analyst-use';
import { LARGEST_SOURCE_BYTES, readBounded, TooLargeFileError, UnreadableFileError } from './read-bounded';
import { readYaml } from './read-yaml';
import { problemLines, schemaProblems, shown, type SpecProblem } from './schema-problems';
import { readTaskFile } from './task-file';
import { type NamedTask, problemsOfSplits } from './task-lines';

/** An agent.yaml cannot be used. The message has a line for each problem: file, field, value and the allowed values. */
export class AgentSpecError extends Error {
  readonly type = 'Spec.Invalid';

  constructor(
    readonly file: string,
    readonly problems: readonly SpecProblem[],
  ) {
    super(problemLines(file, problems));
    this.name = 'AgentSpecError';
  }
}

/**
 * Reads an agent.yaml, without the file of named tasks and without checks that involve several fields.
 * @throws AgentSpecError with every problem that was found.
 */
export const parseAgentSpec = (file: string): AgentSpec => parsed(file).spec;

/** The spec, and the document as it is written. */
function parsed(file: string): { spec: AgentSpec; raw: unknown } {
  const read = readYaml(file);
  if ('problems' in read) throw new AgentSpecError(file, read.problems);
  const { success, data, error } = agentSpecSchema.safeParse(read.value);
  if (!success) throw new AgentSpecError(file, schemaProblems(error, read.value, agentSpecSchema));
  return { spec: data, raw: read.value };
}

/**
 * Reads and checks an agent.yaml and fills in all defaults. Paths in it stay as written, relative to the file. Where a
 * command prints the tasks, their ranges are empty until `withNamedTasks`.
 * @throws AgentSpecError with every problem that was found.
 */
export function loadAgentSpec(file: string): AgentSpec {
  const { spec: written, raw } = parsed(file);
  const folder = dirname(resolve(file));
  const named = withTaskFile(written.environment, raw, folder);
  if ('problems' in named) throw new AgentSpecError(file, named.problems);
  const spec = { ...written, environment: named.environment };
  const problems = [...crossChecks(spec, folder), ...(printsTasks(spec) ? [] : problemsOfHeldOut(spec))];
  if (problems.length > 0) throw new AgentSpecError(file, problems);
  return spec;
}

/** Whether a command prints the tasks, so that `loadAgentSpec` cannot know them. */
export function printsTasks({ environment }: Pick<AgentSpec, 'environment'>): boolean {
  const origin = originOfTasks(environment);
  return origin !== null && 'command' in origin;
}

/**
 * The spec with the ranges of the tasks that its command printed.
 * @param file the agent.yaml, for messages.
 * @throws AgentSpecError if it asks for more held-out tasks.
 */
export function withNamedTasks(spec: AgentSpec, tasks: readonly NamedTask[], file: string): AgentSpec {
  const complete = { ...spec, environment: withRanges(spec.environment, tasks) };
  const problems = problemsOfHeldOut(complete);
  if (problems.length > 0) throw new AgentSpecError(file, problems);
  return complete;
}

/**
 * The named tasks of an environment's file, train tasks first: the place of a task is its seed. Null if tasks have
 * seeds alone.
 * @param folder of the agent.yaml.
 * @throws AgentSpecError if their file changed since the agent.yaml was loaded, and is wrong now; TypeError if a
 *   command prints them.
 */
export function loadTasks({ environment }: AgentSpec, folder: string): NamedTask[] | null {
  const origin = originOfTasks(environment);
  if (origin === null) return null;
  if (!('file' in origin)) throw new TypeError('The tasks that a command prints are in no file.');
  const read = readTaskFile(folder, origin);
  if ('problems' in read) throw new AgentSpecError(resolve(folder, origin.file), read.problems);
  return read.tasks;
}

/** The environment with the ranges of the named tasks in its file. Unchanged if it has none. */
function withTaskFile(
  environment: AgentSpec['environment'],
  raw: unknown,
  folder: string,
): { environment: AgentSpec['environment'] } | { problems: SpecProblem[] } {
  const origin = originOfTasks(environment);
  if (origin === null) return { environment };
  const written = (raw as { environment: object }).environment;
  const beside = ['trainSeeds', 'heldOutSeeds'].flatMap((field) =>
    field in written
      ? [{ path: `environment.${field}`, message: 'is not allowed beside `tasks`, whose lines are the tasks.' }]
      : [],
  );
  const problems = [...beside, ...problemsOfSplits(origin.splits)];
  if (problems.length > 0) return { problems };
  if (!('file' in origin)) return { environment };
  const read = readTaskFile(folder, origin);
  return 'problems' in read ? read : { environment: withRanges(environment, read.tasks) };
}

/** The environment with the ranges of named tasks: train tasks come first. */
function withRanges(environment: AgentSpec['environment'], tasks: readonly NamedTask[]): AgentSpec['environment'] {
  const train = tasks.filter(({ range }) => range === 'train').length;
  return {
    ...environment,
    trainSeeds: { start: 0, count: train },
    heldOutSeeds: { start: train, count: tasks.length - train },
  };
}

/** Whether there are as many held-out tasks as a run judges on. */
function problemsOfHeldOut({ environment, evaluation }: AgentSpec): SpecProblem[] {
  if (!isPlayable(environment)) return [];
  const { heldOutTasks = 1 } = evaluation;
  const { count } = environment.heldOutSeeds;
  if (heldOutTasks <= count) return [];
  const message = `${heldOutTasks} is not allowed. Allowed: 1 to environment.heldOutSeeds.count, which is ${count}.`;
  return [{ path: 'evaluation.heldOutTasks', message }];
}

/** Checks that involve several fields, which the schema cannot express. */
function crossChecks(
  { environment, model, training, identify, analyst, budget }: AgentSpec,
  folder: string,
): SpecProblem[] {
  const problems: SpecProblem[] = [];
  const mustExist = (path: string, value: string | undefined) => {
    if (value === undefined) return;
    const what = whyNoFile(resolve(folder, value));
    if (what !== null) problems.push({ path, message: `${shown(JSON.stringify(value))} ${what} in ${folder}.` });
  };
  mustExist('environment.path', modulePath(environment) ?? undefined);
  mustExist('model.recipe', model.recipe);
  const { trainSeeds: train, heldOutSeeds: heldOut } = environment;
  if (train.start < heldOut.start + heldOut.count && heldOut.start < train.start + train.count) {
    const last = train.start + train.count - 1;
    problems.push({
      path: 'environment.heldOutSeeds',
      message:
        `${heldOut.start} to ${heldOut.start + heldOut.count - 1} overlaps trainSeeds, ${train.start} to ` +
        `${last}. Held-out tasks must never be seen before.`,
    });
  }
  for (const [name, { start, count }] of Object.entries({ trainSeeds: train, heldOutSeeds: heldOut })) {
    if (Number.isSafeInteger(start + count - 1)) continue;
    const message = `${start} and ${count} lead beyond 2^53 - 1, where seeds lose their last digits.`;
    problems.push({ path: `environment.${name}`, message });
  }
  const hasModel = model.baseUrl !== undefined || model.recipe !== undefined || model.path !== undefined;
  if (isPlayable(environment) && !hasModel) {
    problems.push({
      path: 'model',
      message: 'has none of baseUrl, recipe and path, so there is no model to serve. Set one of them.',
    });
  }
  const missing = missingSamplerUrl(model, training);
  if (missing !== null) problems.push({ path: 'training.samplerUrl', message: `is missing. ${missing}` });
  if (identify.quorum !== undefined && identify.quorum > identify.runs) {
    problems.push({
      path: 'identify.quorum',
      message: `${identify.quorum} is not allowed. Allowed: 1 to identify.runs, which is ${identify.runs}.`,
    });
  }
  if (budget.usd !== undefined && pricesOf(analyst) === null) {
    problems.push({
      path: 'budget.usd',
      message:
        `${budget.usd} cannot be watched without prices. Set analyst.pricePerMillionInput and ` +
        'analyst.pricePerMillionOutput, or budget.tokens instead.',
    });
  }
  const { environment: ofEnvironment = {} } = budget;
  if (ofEnvironment.usd !== undefined && pricesOf(ofEnvironment) === null) {
    problems.push({
      path: 'budget.environment.usd',
      message:
        `${ofEnvironment.usd} cannot be watched without prices. Set budget.environment.pricePerMillionInput and ` +
        'budget.environment.pricePerMillionOutput, or budget.environment.tokens instead.',
    });
  }
  return problems;
}

/** Why a path cannot be read as a source file; null if it can. */
function whyNoFile(path: string): string | null {
  try {
    readBounded(path, LARGEST_SOURCE_BYTES);
    return null;
  } catch (error) {
    if (!(error instanceof UnreadableFileError)) throw error;
    if (error instanceof TooLargeFileError)
      return `${error.message} Put data into files beside it, which it opens by their names. It is`;
    // Without its full stop, for a sentence that continues.
    return error.isMissing ? 'does not exist' : error.message.replace(/\.$/, '');
  }
}

/**
 * The sampler vllm without an address uses the model's server. That must be a vLLM that trainers can reach. Returns the
 * missing setting; null if nothing is missing.
 */
function missingSamplerUrl(
  { server, baseUrl }: AgentSpec['model'],
  { sampler, samplerUrl, backend }: AgentSpec['training'],
): string | null {
  if (sampler !== 'vllm' || samplerUrl !== undefined || baseUrl !== undefined) return null;
  if (server !== 'vllm')
    return (
      'Sampler vllm needs the address of the server, such as http://vllm:8000, or a model that vLLM serves: set ' +
      'model.server to vllm, or model.baseUrl.'
    );
  if (backend !== 'kubernetes') return null;
  return (
    'Trainers in a cluster do not reach the vLLM that `whet up` starts on this machine: name the address of one in ' +
    'the cluster.'
  );
}
