import { dirname, resolve } from 'node:path';
import { type AgentSpec, agentSpecSchema } from '../contracts/config/agent-spec';
import { modulePath, taskFileOf } from '../contracts/config/environment-kinds';
import { pricesOf } from '../contracts/artifacts/analyst-use';
import { LARGEST_SOURCE_BYTES, readBounded, TooLargeFileError, UnreadableFileError } from './read-bounded';
import { readYaml } from './read-yaml';
import { problemLines, schemaProblems, shown, type SpecProblem } from './schema-problems';
import { type NamedTask, readTaskFile } from './task-file';

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
 * Reads and checks an agent.yaml and fills in all defaults. Paths in it stay as written, relative to the file.
 * @throws AgentSpecError with every problem that was found.
 */
export function loadAgentSpec(file: string): AgentSpec {
  const { spec: written, raw } = parsed(file);
  const folder = dirname(resolve(file));
  const named = withTaskSeeds(written.environment, raw, folder);
  if ('problems' in named) throw new AgentSpecError(file, named.problems);
  const spec = { ...written, environment: named.environment };
  const problems = crossChecks(spec, folder);
  if (problems.length > 0) throw new AgentSpecError(file, problems);
  return spec;
}

/**
 * The named tasks of an environment, train tasks first: the place of a task is its seed. Null if it has none.
 * @param folder of the agent.yaml.
 * @throws AgentSpecError if their file changed since the agent.yaml was loaded, and is wrong now.
 */
export function loadTasks({ environment }: AgentSpec, folder: string): NamedTask[] | null {
  const named = taskFileOf(environment);
  if (named === null) return null;
  const read = readTaskFile(folder, named);
  if ('problems' in read) throw new AgentSpecError(resolve(folder, named.file), read.problems);
  return read.tasks;
}

/** The environment with the ranges of its named tasks: train tasks come first. Unchanged if it has none. */
function withTaskSeeds(
  environment: AgentSpec['environment'],
  raw: unknown,
  folder: string,
): { environment: AgentSpec['environment'] } | { problems: SpecProblem[] } {
  const named = taskFileOf(environment);
  if (named === null) return { environment };
  const written = (raw as { environment: object }).environment;
  const problems = ['trainSeeds', 'heldOutSeeds'].flatMap((field) =>
    field in written
      ? [{ path: `environment.${field}`, message: 'is not allowed beside `tasks`, whose lines are the tasks.' }]
      : [],
  );
  if (problems.length > 0) return { problems };
  const read = readTaskFile(folder, named);
  if ('problems' in read) return read;
  const train = read.tasks.filter(({ range }) => range === 'train').length;
  return {
    environment: {
      ...environment,
      trainSeeds: { start: 0, count: train },
      heldOutSeeds: { start: train, count: read.tasks.length - train },
    },
  };
}

/** Checks that involve several fields, which the schema cannot express. */
function crossChecks(
  { environment, model, training, identify, evaluation, analyst, budget }: AgentSpec,
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
  const { heldOutTasks = 1 } = evaluation;
  if (heldOutTasks > heldOut.count) {
    problems.push({
      path: 'evaluation.heldOutTasks',
      message: `${heldOutTasks} is not allowed. Allowed: 1 to environment.heldOutSeeds.count, which is ${heldOut.count}.`,
    });
  }
  if (model.baseUrl === undefined && model.recipe === undefined && model.path === undefined) {
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
