import { cleanLine, cleanText, startOf } from '../contracts/clean-text';

/** The output of a command: text for people, or with --json one JSON document for programs. */
export interface Output {
  /** Whether lines can be redrawn: on a terminal, without --json. */
  readonly live: boolean;
  /** A line for people; not written with --json. */
  line(text?: string): void;
  /** The command's result. With --json it is printed, else `text` is. */
  result(value: unknown, text: string): void;
  /** Replaces the lines of the last call, unless other output was written since. Only if `live` is true. */
  redraw(lines: readonly string[]): void;
}

type Stream = Pick<NodeJS.WriteStream, 'write'> & { isTTY?: boolean; columns?: number };

/** A stream that may receive other programs' text, and writes only clean text. */
export type CleanStream = Pick<NodeJS.WriteStream, 'write'>;

const clean = (stream: () => NodeJS.WriteStream): CleanStream => ({
  write: (text: string | Uint8Array) => stream().write(cleanText(String(text))),
});

/** The program's streams. They are looked up at each call, because tests replace them. */
export const standardOutput = clean(() => process.stdout);
/** See `standardOutput`. */
export const standardError = clean(() => process.stderr);

/** Where questions are asked and answered. */
export interface Terminal {
  input: NodeJS.ReadableStream;
  /** Standard output is for the result alone. */
  output: NodeJS.WritableStream;
  /** Whether a person can answer. */
  isInteractive: boolean;
}

/** The terminal of this process. */
export const ownTerminal = (): Terminal => ({
  input: process.stdin,
  output: process.stderr,
  isInteractive: process.stdin.isTTY && process.stderr.isTTY,
});

/** Calls `handle` with the errors of both streams, for example when their reader has closed the pipe. */
export function onStreamError(handle: (error: NodeJS.ErrnoException) => void): void {
  for (const stream of [process.stdout, process.stderr]) stream.on('error', handle);
}

/** Output on a stream, normally stdout. */
export function createOutput(json: boolean, stream: Stream = process.stdout): Output {
  let drawn = 0;
  const live = !json && stream.isTTY === true && process.env['TERM'] !== 'dumb';
  return {
    live,
    line(text = '') {
      if (json) return;
      drawn = 0;
      stream.write(`${cleanText(text)}\n`);
    },
    result(value, text) {
      drawn = 0;
      const written = json ? JSON.stringify(value, null, 2) : text;
      if (written !== '') stream.write(`${cleanText(written)}\n`);
    },
    redraw(lines) {
      if (!live) return;
      const width = stream.columns ?? 100;
      const up = drawn > 0 ? `\u001b[${drawn}A` : '';
      stream.write(
        up +
          lines.map((text) => `\u001b[2K${startOf(cleanText(text.replace(/\s/g, ' ')), width - 1)}\n`).join('') +
          (drawn > lines.length ? '\u001b[0J' : ''),
      );
      drawn = lines.length;
    },
  };
}

/** Aligned columns. Those in `right` (by index) are right-aligned; the last one is not padded. */
export function table(cells: readonly (readonly string[])[], right: readonly number[] = []): string {
  const rows = cells.map((row) => row.map((cell) => (/[\r\n]/.test(cell) ? cleanLine(cell) : cleanText(cell))));
  const widths = rows.reduce<number[]>((all, row) => row.map((cell, i) => Math.max(all[i] ?? 0, cell.length)), []);
  return rows
    .map((row) =>
      row
        .map((cell, i) => {
          if (right.includes(i)) return cell.padStart(widths[i] ?? 0);
          return i === row.length - 1 ? cell : cell.padEnd(widths[i] ?? 0);
        })
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

/** Seconds in readable form: `0.4 s`, `12 s`, `3 min 05 s`, `2 h 10 min`. */
export function duration(seconds: number): string {
  if (seconds < 9.95) return `${seconds.toFixed(1)} s`;
  const whole = Math.round(seconds);
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${String(whole % 60).padStart(2, '0')} s`;
  return `${Math.floor(whole / 3600)} h ${String(Math.floor((whole % 3600) / 60)).padStart(2, '0')} min`;
}
