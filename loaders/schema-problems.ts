/** Sentences about what a schema refuses: path, value, what is allowed. */
import { z } from 'zod';

/** One thing that is wrong in a configuration file. */
export interface SpecProblem {
  /** Dotted path of the field; empty for the file as a whole. */
  path: string;
  /** What is wrong and what is allowed. */
  message: string;
}

/** Problems of a value that its schema refused, each with the field's path. */
export const schemaProblems = (error: z.ZodError, raw: unknown, schema: z.ZodType): SpecProblem[] =>
  error.issues.flatMap((issue) => describe(issue, raw, schema));

type Issue = z.core.$ZodIssue;

function describe(issue: Issue, raw: unknown, schema: z.ZodType): SpecProblem[] {
  const path = issue.path.map(String).join('.');
  if (issue.code === 'unrecognized_keys') {
    const known = knownFields(schema, issue.path);
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
        .flatMap((inner) =>
          inner.code === 'invalid_value' ? inner.values.map((value) => JSON.stringify(value)) : inner.message,
        )
        .join(', ')}.`;
    default:
      return `Allowed: ${issue.message}.`;
  }
}

function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>(
    (inner, key) =>
      typeof inner === 'object' && inner !== null ? (inner as Record<PropertyKey, unknown>)[key] : undefined,
    value,
  );
}

/** Names of the fields at a path of the schema; null where it is no object. */
function knownFields(schema: z.ZodType, path: readonly PropertyKey[]): string[] | null {
  type Node = { properties?: Record<string, Node>; items?: Node } | undefined;
  let node = z.toJSONSchema(schema, { io: 'input' }) as Node;
  for (const key of path) node = typeof key === 'number' ? node?.items : node?.properties?.[String(key)];
  return node?.properties === undefined ? null : Object.keys(node.properties);
}
