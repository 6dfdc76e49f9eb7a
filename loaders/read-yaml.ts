import {
  type Document,
  isAlias,
  isNode,
  isScalar,
  LineCounter,
  parseDocument,
  visit,
  type YAMLParseError,
  type YAMLWarning,
} from 'yaml';
import { readBounded, UnreadableFileError } from './read-bounded';
import { fieldName, type SpecProblem } from './schema-problems';

/** Largest file that is read. */
const LARGEST_BYTES = 1_000_000;

/** The value of a YAML file, or its problems. */
export type ReadYaml = { value: unknown } | { problems: SpecProblem[] };

/**
 * Reads a YAML file that a user wrote. Only regular files of limited size are read. An alias that refers to itself is a
 * problem, and so are aliases that expand a small file to gigabytes.
 */
export function readYaml(file: string): ReadYaml {
  const problem = (message: string): ReadYaml => ({ problems: [{ path: '', message }] });
  let text: string;
  try {
    text = readBounded(file, LARGEST_BYTES).toString('utf8');
  } catch (error) {
    if (error instanceof UnreadableFileError) return problem(error.message);
    throw error;
  }
  try {
    // Tags make sets and maps, whose fields no schema sees. So a tag is not interpreted: it is a problem. `keyFaults`
    // below compares the keys: the library would compare each key with all others.
    const lineCounter = new LineCounter();
    const options = {
      schema: 'core',
      merge: true,
      resolveKnownTags: false,
      uniqueKeys: false,
      prettyErrors: false,
    } as const;
    const document = parseDocument(text, { ...options, lineCounter });
    const [first, ...further] = [...document.errors, ...document.warnings].sort((a, b) => a.pos[0] - b.pos[0]);
    if (first !== undefined) return problem(`${faultText(first, lineCounter)}${followText(further.length)}`);
    const faults = keyFaults(document, lineCounter);
    if (faults.length > 0) return { problems: faults.map((message) => ({ path: '', message })) };
    const value: unknown = document.toJS();
    // Throws for an alias inside the value that it refers to.
    JSON.stringify(value);
    return { value };
  } catch (error) {
    return problem(`its aliases or levels cannot be resolved: ${withoutContent((error as Error).message)}.`);
  }
}

/** Faults whose message in the library quotes the file. */
const OWN_WORDS: Partial<Record<YAMLParseError['code'], string>> = {
  TAG_RESOLVE_FAILED: 'A tag cannot be resolved',
  BAD_DIRECTIVE: 'A directive is not known',
  BAD_DQ_ESCAPE: 'A text has an escape that YAML does not know',
  MULTIPLE_DOCS: 'The file has more than one document, and one is read. Behind `---` the next one begins',
};

/** The expected form, if the library's own message does not name it. */
const EXPECTED: readonly [RegExp, string][] = [
  [/must start at the same column/, 'fields of one level in one column, what belongs to a field further to the right'],
  [/^Tabs are not allowed/, 'spaces'],
  [/^Implicit (map )?keys/, '`field: value`'],
  [/^Nested mappings/, 'one `field: value` in a line; a value that has a colon and a space stands in quotes'],
  [/^Plain value cannot start/, 'the value in quotes'],
];

/**
 * A fault and its place. The text quotes nothing of the file. Through a link the path may lead to any file, which the
 * reader of the message may not be allowed to read.
 */
function faultText({ code, message, pos }: YAMLParseError | YAMLWarning, lines: LineCounter): string {
  const { line, col } = lines.linePos(pos[0]);
  const expected = EXPECTED.find(([sentence]) => sentence.test(message))?.[1];
  const place = `at line ${line}, column ${col}.`;
  return `${OWN_WORDS[code] ?? withoutContent(message)} ${place}${expected === undefined ? '' : ` Expected: ${expected}.`}`;
}

/** Later faults are only counted, because most follow from the first one. */
const followText = (count: number): string => {
  if (count === 0) return '';
  return ` ${count === 1 ? 'One more fault is' : `${count} more faults are`} behind it, which may be gone with it.`;
};

/** The library quotes the file after a colon. */
const withoutContent = (message: string): string => message.replace(/(?<=\S):\s[^]*$/, '').split('\n', 1)[0] ?? '';

/** Faulty keys with their lines: keys that occur twice in a map, and keys that are lists or maps. */
function keyFaults(document: Document.Parsed, lines: LineCounter): string[] {
  const faults: string[] = [];
  visit(document, {
    Map: (_, map) => {
      const seen = new Set<string>();
      for (const { key } of map.items) {
        const line = isNode(key) && key.range ? lines.linePos(key.range[0]).line : 0;
        const node = isAlias(key) ? key.resolve(document) : key;
        if (!isScalar(node)) {
          faults.push(`the key in line ${line} is a list or a map. Keys are words.`);
          continue;
        }
        // The names are compared as keys of the value: 1 and "1" are the same field.
        const name = String(node.value);
        if (seen.has(name)) faults.push(`the key ${JSON.stringify(fieldName(name))} in line ${line} is there twice.`);
        seen.add(name);
      }
      return faults.length > 0 ? visit.BREAK : undefined;
    },
  });
  return faults;
}
