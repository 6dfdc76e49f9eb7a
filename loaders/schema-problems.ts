/** Turns a schema's problems into sentences: field, value and the allowed values. */
import { z } from 'zod';
import { startOf } from '../contracts/clean-text';
import { REDACTION_FINDERS } from '../contracts/redaction-rules';
import { nearestName } from './nearest-name';

/** One thing that is wrong in a configuration file. */
export interface SpecProblem {
  /** Dotted path of the field; empty for the file as a whole. */
  path: string;
  /** The fault, and the allowed values. */
  message: string;
}

/** The problems of a value that its schema refused, each with the path of the field. */
export function schemaProblems(error: z.ZodError, raw: unknown, schema: z.ZodType): SpecProblem[] {
  const texts = new Set<string>();
  return error.issues.flatMap((issue) => {
    if (typeof valueAt(raw, issue.path) !== 'string') return describe(issue, raw, schema);
    // Of a text that is refused for several reasons, the first one is enough to go on.
    const path = issue.path.join('.');
    if (texts.has(path)) return [];
    texts.add(path);
    return describe(issue, raw, schema);
  });
}

type Issue = z.core.$ZodIssue;

/**
 * A text without the user names, passwords and queries of its addresses: messages end up in logs and in Temporal. Each
 * address is read once, whether or not it has a query: a text may be long.
 */
export const withoutPasswords = (text: string): string =>
  text
    .replace(/:[/\\]+[^\s"/?#\\]*@/g, '://…@')
    .replace(/(:\/\/[^\s"?]*)(\?[^\s"]+)?/g, (_, address: string, query?: string) => address + (query ? '?…' : ''));

/** Keys that are shorter than those in texts of others: here a word may be hidden in vain. */
const SHORT_KEY = /\b(?:sk|pk|rk)[-_][\w-]{8,}/g;
const withoutKeys = (text: string): string =>
  text.replace(REDACTION_FINDERS.key.pattern, '[key]').replace(SHORT_KEY, '[key]');

/** Longest part of a name or value that a message repeats. */
const SHOWN_LETTERS = 200;
/** A text as a message repeats it: its beginning, without keys. */
export function shown(text: string): string {
  const clean = withoutKeys(text);
  return clean.length > SHOWN_LETTERS ? `${startOf(clean, SHOWN_LETTERS)}…` : clean;
}

/**
 * A key for a message: it is repeated only if it looks like the name of a field. A line of another file, such as
 * /etc/shadow, is also read as a key if it ends with a colon.
 */
export const fieldName = (key: string): string =>
  /^[\p{L}\p{N}_.-]{1,64}$/u.test(key) && withoutKeys(key) === key ? key : '(a key that is not shown)';

/** Most problems of a file that one message lists. */
const LISTED_PROBLEMS = 50;

/** The problems of a file as the lines of a message. */
export function problemLines(file: string, problems: readonly SpecProblem[]): string {
  const lines = problems
    .slice(0, LISTED_PROBLEMS)
    .map(({ path, message }) => `${file}: ${path === '' ? '' : `${path}: `}${message}`);
  const more = problems.length - lines.length;
  return [...lines, ...(more > 0 ? [`${file}: and ${more} more.`] : [])].join('\n');
}

/** Fields that may contain the secret itself instead of its hash. */
const isSecret = (path: readonly PropertyKey[]): boolean => path[0] === 'keys' || path.at(-1) === 'sha256';

function describe(issue: Issue, raw: unknown, schema: z.ZodType): SpecProblem[] {
  const path = issue.path.map(String).join('.');
  if (issue.code === 'unrecognized_keys') {
    const known = knownFields(schema, raw, issue.path);
    const options = unionAt(schema, raw, issue.path)?.oneOf ?? [];
    const chosen = valueAt(raw, issue.path);
    return issue.keys.map((key) => ({
      path: shown([path, fieldName(key)].filter(Boolean).join('.')),
      message: `unknown field.${meantBy(key, known ?? [], options, chosen)}${known === null ? '' : ` Known here: ${known.join(', ')}.`}`,
    }));
  }
  const value = valueAt(raw, issue.path);
  const inner = nearestOption(issue, value);
  if (inner !== null)
    return inner.flatMap((one) => describe({ ...one, path: [...issue.path, ...one.path] }, raw, schema));
  // A value that is not a map of fields comes from some other file. It is not repeated, because the path may be a link
  // to that file.
  if (issue.path.length === 0) return [{ path, message: `is ${kindOf(value)}. ${allowed(issue, false)}` }];
  const named = isSecret(issue.path) ? 'what is there' : quotedValue(value, issue);
  const found = value === undefined ? 'is missing' : `${named} is not allowed`;
  const node = nodeAt(schema, raw, issue.path);
  const fields = Object.keys(node?.properties ?? {});
  if (issue.code === 'invalid_type' && issue.expected === 'object' && fields.length > 0 && fields.length <= FEW_FIELDS)
    return [{ path, message: `${found}. Allowed: the field${fields.length === 1 ? '' : 's'} ${fields.join(', ')}.` }];
  return [{ path, message: `${found}.${valueMeantBy(value, issue)} ${allowed(issue, node?.type === 'integer')}` }];
}

/** So many fields are named where a value is none. */
const FEW_FIELDS = 6;

/** The problems of a map of fields with the form that it is nearest to, where several are allowed; else null. */
function nearestOption(issue: Issue, value: unknown): Issue[] | null {
  if (issue.code !== 'invalid_union' || typeof value !== 'object' || value === null || Array.isArray(value))
    return null;
  const distance = (problems: readonly Issue[]) =>
    problems.reduce((sum, { code }) => sum + (code === 'unrecognized_keys' ? 10 : 1), 0);
  const ofFields = issue.errors.filter((problems) =>
    problems.every(({ code, path }) => path.length > 0 || code === 'unrecognized_keys'),
  );
  return ofFields.sort((a, b) => distance(a) - distance(b))[0] ?? null;
}

/** The allowed word that a misspelt one most likely means, as a sentence; empty if none is near. */
function valueMeantBy(value: unknown, issue: Issue): string {
  const words =
    issue.code === 'invalid_value' ? issue.values : 'options' in issue ? (issue.options as readonly unknown[]) : [];
  const name = typeof value === 'string' && nearestName(value, words?.filter((word) => typeof word === 'string') ?? []);
  return typeof name === 'string' ? ` Did you mean ${JSON.stringify(name)}?` : '';
}

/**
 * What an unknown field most likely means, as sentences: one of another option of the union, else a known one.
 * @param value has the field.
 */
function meantBy(key: string, known: readonly string[], options: readonly SchemaNode[], value: unknown): string {
  const having = options.flatMap(({ properties = {} }) => {
    const [chooses] = Object.entries(properties).filter(([, field]) => field.const !== undefined);
    return chooses !== undefined && Object.hasOwn(properties, key)
      ? [{ name: chooses[0], value: String(chooses[1].const) }]
      : [];
  });
  const [first] = having;
  if (first === undefined) return didYouMean(key, known);
  const isSet = valueAt(value, [first.name]) !== undefined;
  const kinds = having.map((one) => one.value).join(', ');
  return ` It is one of ${first.name} ${kinds}${isSet ? '' : `, and ${first.name} is not set`}.`;
}

/**
 * A value as a message repeats it. A text in the place of fields may be a key, and a list or a map may hold one: they
 * are named by their kind.
 */
function quotedValue(value: unknown, issue: Issue): string {
  const isPlain = (one: unknown): boolean => typeof one !== 'object' && typeof one !== 'string';
  if (Array.isArray(value)) return value.every(isPlain) ? shown(written(value)) : 'a list';
  if (typeof value === 'object' && value !== null) return 'a map of fields';
  const wantsFields = issue.code === 'invalid_type' && ['object', 'record', 'array', 'tuple'].includes(issue.expected);
  return wantsFields && typeof value === 'string' ? 'a text' : shown(withoutPasswords(written(value)));
}

/** The kind of a whole document, in words. */
function kindOf(value: unknown): string {
  if (value === undefined || value === null) return 'empty';
  if (Array.isArray(value)) return 'a list, not fields with values';
  if (typeof value === 'object') return 'not as it should be';
  return `a ${typeof value === 'string' ? 'text' : typeof value}, not fields with values`;
}

/** The known field that a misspelt one is nearest to, as a sentence; empty if none is near. */
function didYouMean(key: string, known: readonly string[]): string {
  const name = nearestName(key, known);
  return name === null ? '' : ` Did you mean ${name}?`;
}

/** Names of a schema's types that people who write YAML do not use. */
const TYPE_NAMES: Readonly<Record<string, string>> = {
  array: 'a list, such as [one, two]',
  tuple: 'a list, such as [one, two]',
  boolean: 'true, false',
  int: 'a whole number',
  number: 'a number',
  object: 'fields with values',
  record: 'fields with values',
  string: 'a text',
};

/** A value as JSON, with numbers that JSON cannot express: 1e400 is Infinity, not null. */
const written = (value: unknown): string => (typeof value === 'number' ? String(value) : (JSON.stringify(value) ?? ''));

/** The allowed values. `isWhole` means that the field takes whole numbers. */
function allowed(issue: Issue, isWhole: boolean): string {
  switch (issue.code) {
    case 'invalid_value':
      return `Allowed: ${quoted(issue.values)}.`;
    case 'too_small': {
      if (isWhole && issue.inclusive === false) return `Allowed: at least ${Number(issue.minimum) + 1}.`;
      if (issue.origin === 'array' && issue.minimum === 1) return 'Allowed: a list that is not empty.';
      const least = `${issue.inclusive === false ? 'more than' : 'at least'} ${issue.minimum}`;
      return issue.origin === 'string' ? `Allowed: a text of ${least} characters.` : `Allowed: ${least}.`;
    }
    case 'too_big':
      return `Allowed: ${issue.inclusive === false ? 'less than' : 'at most'} ${issue.maximum}.`;
    case 'invalid_type':
      return `Allowed: ${isWhole ? 'a whole number' : (TYPE_NAMES[issue.expected] ?? `a value of type ${issue.expected}`)}.`;
    case 'invalid_union':
      // A discriminated union lists the values of its discriminator; a value is undefined if the discriminator has a
      // default.
      if ('options' in issue && issue.options !== undefined) return `Allowed: ${quoted(issue.options)}.`;
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

const quoted = (values: readonly unknown[]): string =>
  values
    .filter((value) => value !== undefined)
    .map((value) => JSON.stringify(value))
    .join(', ');

/** The part of a JSON Schema that says which fields an object has. */
interface SchemaNode {
  type?: string;
  properties?: Record<string, SchemaNode>;
  items?: SchemaNode;
  /** Options of a discriminated union. */
  oneOf?: SchemaNode[];
  const?: unknown;
  default?: unknown;
}

/**
 * Names of the fields that the schema allows at a path of the value `raw`; null if it has no object there. In a
 * discriminated union they are the fields of the option that the value chose.
 */
function knownFields(schema: z.ZodType, raw: unknown, path: readonly PropertyKey[]): string[] | null {
  const properties = nodeAt(schema, raw, path)?.properties;
  return properties === undefined ? null : Object.keys(properties);
}

/** The schema at a path of the value `raw`, of a union the option that it chose; undefined if there is none. */
const nodeAt = (schema: z.ZodType, raw: unknown, path: readonly PropertyKey[]): SchemaNode | undefined =>
  chosenOption(unionAt(schema, raw, path), valueAt(raw, path));

/** The schema at a path of the value `raw`, of a union all options; undefined if there is none. */
function unionAt(schema: z.ZodType, raw: unknown, path: readonly PropertyKey[]): SchemaNode | undefined {
  let node: SchemaNode | undefined = z.toJSONSchema(schema, { io: 'input' }) as SchemaNode;
  path.forEach((key, depth) => {
    const chosen = chosenOption(node, valueAt(raw, path.slice(0, depth)));
    node = typeof key === 'number' ? chosen?.items : chosen?.properties?.[String(key)];
  });
  return node;
}

/**
 * The option of a discriminated union whose constant fields match the value; any other schema is returned unchanged.
 */
function chosenOption(node: SchemaNode | undefined, value: unknown): SchemaNode | undefined {
  if (node?.oneOf === undefined) return node;
  return node.oneOf.find(({ properties = {} }) =>
    Object.entries(properties).every(
      ([name, field]) => field.const === undefined || (valueAt(value, [name]) ?? field.default) === field.const,
    ),
  );
}
