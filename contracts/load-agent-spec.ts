import { existsSync, readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { parseDocument } from 'yaml';
import { z } from 'zod';
import { type AgentSpec, agentSpecSchema } from './agent-spec';
import { pricesOf } from './analyst-use';

/** One thing that is wrong in an agent.yaml. */
export interface SpecProblem {
  /** Dotted path of the field; empty for the file as a whole. */
  path: string;
  /** What is wrong and what is allowed. */
  message: string;
}

/** An agent.yaml that cannot be used. The message has one line per problem: file, path, value, what is allowed. */
export class AgentSpecError extends Error {
  readonly type = 'Spec.Invalid';

  constructor(
    readonly file: string,
    readonly problems: readonly SpecProblem[],
  ) {
    super(problems.map(({ path, message }) => `${file}: ${path === '' ? '' : `${path}: `}${message}`).join('\n'));
    this.name = 'AgentSpecError';
  }
}

/**
 * Reads and checks an agent.yaml and fills in all defaults. Paths in it stay as written, relative to the file.
 * @throws AgentSpecError with every problem that was found.
 */
export function loadAgentSpec(file: string): AgentSpec {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    const missing = (error as NodeJS.ErrnoException).code === 'ENOENT';
    throw new AgentSpecError(file, [{ path: '', message: missing ? 'there is no such file.' : `cannot be read: ${(error as Error).message}.` }]);
  }
  const document = parseDocument(text);
  if (document.errors.length > 0)
    throw new AgentSpecError(
      file,
      document.errors.map((error) => ({ path: '', message: error.message.trimEnd() })),
    );
  const raw: unknown = document.toJS();
  const parsed = agentSpecSchema.safeParse(raw);
  if (!parsed.success)
    throw new AgentSpecError(
      file,
      parsed.error.issues.flatMap((issue) => describe(issue, raw)),
    );
  const problems = crossChecks(parsed.data, dirname(resolve(file)));
  if (problems.length > 0) throw new AgentSpecError(file, problems);
  return parsed.data;
}

type Issue = z.core.$ZodIssue;

function describe(issue: Issue, raw: unknown): SpecProblem[] {
  const path = issue.path.map(String).join('.');
  if (issue.code === 'unrecognized_keys') {
    const known = knownFields(issue.path);
    return issue.keys.map((key) => ({
      path: [path, key].filter(Boolean).join('.'),
      message: `unknown field.${known === null ? '' : ` Known here: ${known.join(', ')}.`}`,
    }));
  }
  const value = valueAt(raw, issue.path);
  const found = value === undefined ? 'is missing' : `${JSON.stringify(value)} is not allowed`;
  return [{ path, message: `${found}. ${allowed(issue)}` }];
}

function allowed(issue: Issue): string {
  switch (issue.code) {
    case 'invalid_value':
      return `Allowed: ${issue.values.map((value) => JSON.stringify(value)).join(', ')}.`;
    case 'too_small':
      return `Allowed: ${issue.origin === 'string' ? 'a text of' : ''} ${issue.inclusive === false ? 'more than' : 'at least'} ${issue.minimum}${issue.origin === 'string' ? ' characters' : ''}.`.replace(
        ':  ',
        ': ',
      );
    case 'too_big':
      return `Allowed: ${issue.inclusive === false ? 'less than' : 'at most'} ${issue.maximum}.`;
    case 'invalid_type':
      return `Allowed: ${issue.expected === 'int' ? 'a whole number' : `a value of type ${issue.expected}`}.`;
    case 'invalid_union':
      return `Allowed: ${issue.errors
        .flat()
        .flatMap((inner) => (inner.code === 'invalid_value' ? inner.values.map((value) => JSON.stringify(value)) : inner.message))
        .join(', ')}.`;
    default:
      return `Allowed: ${issue.message}.`;
  }
}

function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>((inner, key) => (typeof inner === 'object' && inner !== null ? (inner as Record<PropertyKey, unknown>)[key] : undefined), value);
}

/** Names of the fields at a path of the schema; null where it is no object. */
function knownFields(path: readonly PropertyKey[]): string[] | null {
  let node: { properties?: Record<string, unknown> } | undefined = z.toJSONSchema(agentSpecSchema, { io: 'input' });
  for (const key of path) node = node?.properties?.[String(key)] as typeof node;
  return node?.properties === undefined ? null : Object.keys(node.properties);
}

/** What a schema of single fields cannot say. */
function crossChecks({ environment, model, identify, analyst, budget }: AgentSpec, folder: string): SpecProblem[] {
  const problems: SpecProblem[] = [];
  const mustExist = (path: string, value: string | undefined) => {
    if (value !== undefined && !existsSync(resolve(folder, value))) problems.push({ path, message: `${JSON.stringify(value)} does not exist in ${folder}.` });
  };
  mustExist('environment.path', environment.path);
  mustExist('model.recipe', model.recipe);
  const { trainSeeds: train, heldOutSeeds: heldOut } = environment;
  if (train.start < heldOut.start + heldOut.count && heldOut.start < train.start + train.count) {
    const last = train.start + train.count - 1;
    problems.push({
      path: 'environment.heldOutSeeds',
      message: `${heldOut.start} to ${heldOut.start + heldOut.count - 1} overlaps trainSeeds, ${train.start} to ${last}. Held-out tasks must never be seen before.`,
    });
  }
  if (model.baseUrl === undefined && model.recipe === undefined && model.path === undefined) {
    problems.push({ path: 'model', message: 'has none of baseUrl, recipe and path, so there is no model to serve. Set one of them.' });
  }
  if (identify.quorum !== undefined && identify.quorum > identify.runs) {
    problems.push({ path: 'identify.quorum', message: `${identify.quorum} is not allowed. Allowed: 1 to identify.runs, which is ${identify.runs}.` });
  }
  if (budget.usd !== undefined && pricesOf(analyst) === null) {
    problems.push({
      path: 'budget.usd',
      message: `${budget.usd} cannot be watched without prices. Set analyst.pricePerMillionInput and analyst.pricePerMillionOutput, or budget.tokens instead.`,
    });
  }
  return problems;
}
