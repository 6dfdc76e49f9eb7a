/**
 * The form of observations: text, or a JSON document with its members and types. It is learnt from the answers of the
 * agent's environment; then another environment's answers are compared with it.
 */
export interface Format {
  /** Kinds seen: text, string, number, boolean, null, array, object. */
  kinds: Set<string>;
  /** Form of each member, for each set of members seen. Keys are the sorted member names, joined by `, `. */
  objects: Map<string, Map<string, Format>>;
  /** Form of the elements of arrays; null when no array was seen. */
  element: Format | null;
}

/**
 * If there are at least this many sets of members, the member names count as data rather than format. Then they are not
 * compared.
 */
const MAX_OBJECTS = 24;

const emptyFormat = (): Format => ({ kinds: new Set(), objects: new Map(), element: null });

/** Adds an observation to a form, in place, and returns the form; creates one where there is none. */
export function learnFormat(format: Format | null | undefined, observation: string): Format {
  const learnt = format ?? emptyFormat();
  learn(learnt, documentOf(observation));
  return learnt;
}

/** How an observation differs from a form, as the end of a sentence; null if it does not differ. */
export function formatDifference(format: Format, observation: string): string | null {
  return difference(format, documentOf(observation), '');
}

/** Represents an observation in words. JSON.parse can never return it. */
const TEXT = Symbol('text');
type Document = unknown;

function documentOf(observation: string): Document {
  try {
    const parsed: unknown = JSON.parse(observation);
    // An answer in words may happen to be a JSON string or number.
    return parsed !== null && typeof parsed === 'object' ? parsed : TEXT;
  } catch {
    return TEXT;
  }
}

function kindOf(value: Document): string {
  if (value === TEXT) return 'text';
  if (value === null) return 'null';
  return Array.isArray(value) ? 'array' : typeof value;
}

const membersOf = (value: object): string => Object.keys(value).sort().join(', ');

function learn(format: Format, value: Document): void {
  const kind = kindOf(value);
  format.kinds.add(kind);
  if (kind === 'array') {
    format.element ??= emptyFormat();
    for (const element of value as unknown[]) learn(format.element, element);
  } else if (kind === 'object') {
    const members = format.objects.get(membersOf(value as object)) ?? new Map<string, Format>();
    for (const [name, member] of Object.entries(value as object)) {
      const known = members.get(name) ?? emptyFormat();
      learn(known, member);
      members.set(name, known);
    }
    format.objects.set(membersOf(value as object), members);
  }
}

function difference(format: Format, value: Document, path: string): string | null {
  const kind = kindOf(value);
  const where = path === '' ? '' : ` at ${path}`;
  if (!format.kinds.has(kind))
    return `is ${kind}${where} where the agent's has ${[...format.kinds].sort().join(' or ')}`;
  if (kind === 'array') {
    for (const element of value as unknown[]) {
      const found =
        format.element && format.element.kinds.size > 0 ? difference(format.element, element, `${path}[]`) : null;
      if (found) return found;
    }
    return null;
  }
  if (kind !== 'object' || format.objects.size > MAX_OBJECTS) return null;
  const members = format.objects.get(membersOf(value as object));
  if (!members) {
    const known = [...format.objects.keys()].slice(0, 4).map((names) => `{${names}}`);
    return `has the members {${membersOf(value as object)}}${where} where the agent's has ${known.join(' or ')}`;
  }
  for (const [name, member] of Object.entries(value as object)) {
    const found = difference(members.get(name)!, member, `${path}.${name}`);
    if (found) return found;
  }
  return null;
}
