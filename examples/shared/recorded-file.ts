import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { applyPatch, parsePatch, type StructuredPatchHunk } from 'diff';

/** A patch does not make a file. The message names the patch, the hunk and what to do. */
export class PatchError extends Error {}

/** A file that is recorded as it is, or as a patch of another one. */
export interface RecordedFile {
  /** The comment lines above the diff, each with its line feed; empty for a file that is recorded as it is. */
  head: string;
  text: string;
}

const HEAD_END = /^--- /m;
const AGAIN = 'Make it again with `diff -u BASE.py NAME.py`, and keep its head.';

/**
 * Reads NAME.py, or makes it from NAME.patch in the same folder. A patch is a head of comment lines and a unified diff.
 * Its line `---` names the base, relative to the patch; the base may be a patch as well. Every line that the diff
 * quotes must be in the base, at the place that the hunk gives. Null when there is neither file nor patch.
 * @throws PatchError when both are there, the patch cannot be read, its base is missing, or a hunk does not fit.
 */
export function readRecorded(path: string): RecordedFile | null {
  return read(path, []);
}

/** The names NAME.py of all files that a folder has, as they are or as patches, in order. */
export function recordedNames(folder: string): string[] {
  const names = readdirSync(folder).filter((name) => /\.(py|patch)$/.test(name));
  return [...new Set(names.map((name) => name.replace(/\.patch$/, '.py')))].sort();
}

function read(path: string, above: readonly string[]): RecordedFile | null {
  const patch = path.replace(/\.py$/, '.patch');
  const plain = existsSync(path);
  if (!existsSync(patch)) return plain ? { head: '', text: readFileSync(path, 'utf8') } : null;
  if (plain) throw new PatchError(`${patch}: ${basename(path)} is there as well. Remove one of the two.`);
  if (above.includes(patch))
    throw new PatchError(`${patch}: its bases lead back to it. Record one of them as a plain .py file.`);
  const text = readFileSync(patch, 'utf8');
  const { base, hunks } = parse(patch, text);
  const source = read(join(dirname(patch), base), [...above, patch]);
  if (source === null)
    throw new PatchError(
      `${patch}: its base ${base} is not there. Correct the line "--- ${base}": it is relative to the patch.`,
    );
  checkHunks(patch, base, hunks, source.text);
  const made = applyPatch(source.text, text, { autoConvertLineEndings: false, fuzzFactor: 0 });
  if (made === false) throw new PatchError(`${patch}: does not apply to the end of ${base}. ${AGAIN}`);
  return { head: text.slice(0, text.search(HEAD_END)), text: made };
}

function parse(patch: string, text: string): { base: string; hunks: StructuredPatchHunk[] } {
  let files;
  try {
    files = parsePatch(text);
  } catch (error) {
    throw new PatchError(`${patch}: ${(error as Error).message}. ${AGAIN}`, { cause: error });
  }
  const [file, ...others] = files;
  if (others.length > 0) throw new PatchError(`${patch}: has more than the diff of one file. ${AGAIN}`);
  if (!file?.oldFileName || file.hunks.length === 0)
    throw new PatchError(`${patch}: has no line "--- BASE.py" or no hunk. ${AGAIN}`);
  // The library skips what it does not know, also a hunk whose line `@@` is damaged.
  const read = file.hunks.reduce((count, { lines }) => count + 1 + lines.length, 2);
  const unread = text.slice(text.search(HEAD_END)).split('\n').slice(read);
  if (unread.some((line) => line !== '')) throw new PatchError(`${patch}: has lines that belong to no hunk. ${AGAIN}`);
  return { base: file.oldFileName, hunks: file.hunks };
}

/** The library would also take a hunk at another place than the one it names. Here it has to fit exactly. */
function checkHunks(patch: string, base: string, hunks: readonly StructuredPatchHunk[], source: string): void {
  const lines = source.split('\n');
  let free = 1;
  for (const [index, { oldStart, oldLines, lines: changes }] of hunks.entries()) {
    const hunk = `${patch}: hunk ${index + 1} (line ${oldStart} of ${base})`;
    if (oldStart < free) throw new PatchError(`${hunk} begins before the end of the hunk above it. ${AGAIN}`);
    const quoted = changes.filter((line) => !/^[+\\]/.test(line)).map((line) => line.slice(1));
    const wrong = quoted.findIndex((line, place) => line !== lines[oldStart - 1 + place]);
    if (wrong !== -1)
      throw new PatchError(
        `${hunk} does not fit: it expects ${JSON.stringify(quoted[wrong])} in line ${oldStart + wrong}, ` +
          `where the base has ${JSON.stringify(lines[oldStart - 1 + wrong] ?? 'no line')}. ` +
          `The base or the patch was changed. ${AGAIN}`,
      );
    free = oldStart + oldLines;
  }
}
