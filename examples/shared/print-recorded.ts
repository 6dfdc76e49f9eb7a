/**
 * Prints a recorded file, also one that is kept as a patch: the plain file to read, to run or to begin a change from.
 *
 *     node dist/examples/shared/print-recorded.js bench/certificate/wrong/all-gone.py
 */
import { readRecorded } from './recorded-file';

const [path] = process.argv.slice(2);
try {
  if (path === undefined) throw new Error('Name one file: print-recorded.js FOLDER/NAME.py');
  const recorded = readRecorded(path);
  if (recorded === null) throw new Error(`${path}: there is no such file, and no patch that makes it.`);
  process.stdout.write(recorded.text);
} catch (error) {
  console.error((error as Error).message);
  process.exitCode = 1;
}
