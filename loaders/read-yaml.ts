import { readFileSync, statSync } from 'node:fs';
import { parseDocument } from 'yaml';
import type { SpecProblem } from './schema-problems';

/** Largest file that is read. */
const LARGEST_BYTES = 1_000_000;

/** The value of a YAML file, or what is wrong with the file. */
export type ReadYaml = { value: unknown } | { problems: SpecProblem[] };

/**
 * Reads a YAML file that somebody wrote. A FIFO would be waited for and a device read without end, so only files are
 * read. Aliases that refer to themselves, or multiply a small file into gigabytes, are a problem like any other.
 */
export function readYaml(file: string): ReadYaml {
  const problem = (message: string): ReadYaml => ({ problems: [{ path: '', message }] });
  let text: string;
  try {
    const found = statSync(file);
    if (!found.isFile()) return problem('is not a file.');
    if (found.size > LARGEST_BYTES) return problem(`is larger than ${LARGEST_BYTES} bytes.`);
    text = readFileSync(file, 'utf8');
  } catch (error) {
    const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT';
    return problem(isMissing ? 'there is no such file.' : `cannot be read: ${(error as Error).message}.`);
  }
  // Tags make sets and maps whose fields no schema sees. What a tag means is not guessed: it is a problem.
  const document = parseDocument(text, { schema: 'core', resolveKnownTags: false });
  const faults = [...document.errors, ...document.warnings];
  if (faults.length > 0) return { problems: faults.map((fault) => ({ path: '', message: fault.message.trimEnd() })) };
  try {
    const value: unknown = document.toJS();
    // Throws where an alias lies within what it stands for.
    JSON.stringify(value);
    return { value };
  } catch (error) {
    return problem(`its aliases or levels cannot be resolved: ${(error as Error).message.split('\n', 1)[0]}.`);
  }
}
