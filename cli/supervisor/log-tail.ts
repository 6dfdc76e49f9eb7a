import { readEnd } from '../../loaders/read-bounded';
import { startOf, textOfEnd } from '../../contracts/clean-text';

/** Number of bytes that are read of a log, which grows while its service runs. */
const READ_BYTES = 1_000_000;

/** The last lines of a log, for messages; empty if it cannot be read. */
export function logTail(path: string, lines = 15): string {
  return linesOf(path).slice(-lines).join('\n');
}

/** The line that a service's start writes. Earlier lines are from earlier starts. */
const START = /^--- \S+ start /;
/** The prefix of vLLM's messages. */
const PREFIX = /^\([^)]*pid=\d+\) (?:(INFO|WARNING|ERROR|DEBUG) [\d-]+ [\d:]+ \[[^\]]*\] )?/;
/** A line that names an error: `ValueError: ...`, `Value error, ...`, `error: ...`. */
const ERROR = /^(?:.{0,80}\s)?(?:[\w.]*(?:Error|Exception)|[Vv]alue error|error)[:,] /;
const MOST_LINES = 6;
const MOST_CHARACTERS = 400;

/**
 * The cause of a service's last end, for messages: the last log lines that name an error, without the tracebacks in
 * between, else the last lines. vLLM writes its root cause hundreds of lines before the end.
 */
export function errorsOfLog(path: string): string {
  const errors = linesOfLastStart(path)
    .filter((line) => !['INFO', 'WARNING', 'DEBUG'].includes(PREFIX.exec(line)?.[1] ?? ''))
    .map((line) => line.replace(PREFIX, '').trim())
    .filter((line) => ERROR.test(line))
    .map((line) => (line.length > MOST_CHARACTERS ? `${startOf(line, MOST_CHARACTERS)} …` : line));
  const telling = [...new Set(errors)].slice(-MOST_LINES);
  return telling.length > 0 ? telling.join('\n') : logTail(path);
}

/** The current work of a vLLM, in its own words; empty if the log has no such line. */
export function vllmStep(path: string): string {
  const line = linesOfLastStart(path).findLast((one) => PREFIX.exec(one)?.[1] !== undefined);
  return startOf((line ?? '').replace(PREFIX, ''), 100);
}

function linesOfLastStart(path: string): string[] {
  const lines = linesOf(path);
  return lines.slice(lines.findLastIndex((line) => START.test(line)) + 1);
}

/** The last lines of a log; none if it cannot be read. */
function linesOf(path: string): string[] {
  try {
    return textOfEnd(readEnd(path, READ_BYTES)).trimEnd().split('\n');
  } catch {
    return [];
  }
}
