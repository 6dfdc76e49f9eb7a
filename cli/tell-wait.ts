import { duration, standardError } from './output';

/** When the first line is written, and how often one follows, in seconds. */
const FIRST_SECONDS = 5;
const NEXT_SECONDS = 60;

/**
 * Writes a line to standard error while something takes long: after some seconds, then each minute, until it is
 * disposed of.
 * @param words what is waited for, and for how long at most; asked for each line.
 */
export function tellWait(words: () => string): Disposable {
  const began = Date.now();
  let timer: NodeJS.Timeout;
  const later = (seconds: number) => {
    timer = setTimeout(() => {
      standardError.write(`after ${duration((Date.now() - began) / 1000)}: ${words()}\n`);
      later(NEXT_SECONDS);
    }, seconds * 1000);
  };
  later(FIRST_SECONDS);
  return { [Symbol.dispose]: () => clearTimeout(timer) };
}
