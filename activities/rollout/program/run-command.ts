import { setTimeout as later } from 'node:timers/promises';
import { endOf } from '../../../contracts/clean-text';
import type { RunningProgram } from '../../../sandbox';
import { adviceOn } from './failure-advice';

/** Most characters that are kept of the end of an output, and most that a message quotes. */
const KEPT_CHARACTERS = 1_048_576;
const QUOTED_CHARACTERS = 1_000;

/** Most characters that a command may write in all. Whoever reads them has other episodes to play. */
const MOST_CHARACTERS = 268_435_456;

const memoryFull = (limit: string): string =>
  `Its memory was full (${limit}), so that the kernel killed a process of it. `;

const FLOOD = `It wrote more than ${MOST_CHARACTERS / 2 ** 20} MiB, and was killed. `;

/** How a command ended. It is killed when its time is over (`deadline`), and when it has written too much (`flood`). */
export interface CommandEnd {
  why: 'code' | 'signal' | 'deadline' | 'flood';
  code: number | null;
  signal: string | null;
  /** The last line of its output that is not empty; null: there is none, or it is too long. */
  lastLine: string | null;
  /** The ends of its output and of its errors, for a message, and what to do about them. */
  words: string;
}

/** The time that a command has, without that in which it waits for the model. */
export class CommandTime {
  private since: number | null = null;
  private timer: NodeJS.Timeout | undefined;
  private over!: () => void;
  /** Resolves when the time is over. */
  readonly isOver = new Promise<void>((resolve) => (this.over = resolve));

  constructor(private leftMs: number) {}

  /** The time passes from now on. */
  resume(): void {
    if (this.since !== null) return;
    this.since = performance.now();
    this.timer = setTimeout(this.over, this.leftMs);
  }

  /** The time stands still. */
  pause(): void {
    clearTimeout(this.timer);
    if (this.since !== null) this.leftMs = Math.max(0, this.leftMs - (performance.now() - this.since));
    this.since = null;
  }
}

/**
 * Waits until a command ends, and kills it when its time is over, or when it has written too much.
 * @param memory what limits its memory, for a message. Default: the setting of episodes.
 */
export async function endOfCommand(
  running: RunningProgram,
  time: CommandTime,
  memory = 'environment.memoryPerEpisode',
): Promise<CommandEnd> {
  const stdout = new Tail();
  const stderr = new Tail();
  let characters = 0;
  const keep = (output: Tail, text: string): void => {
    characters += text.length;
    if (characters > MOST_CHARACTERS) running.kill();
    else output.add(text);
  };
  running.stdout.setEncoding('utf8').on('data', (text: string) => keep(stdout, text));
  running.stderr.setEncoding('utf8').on('data', (text: string) => keep(stderr, text));
  let isLate = false;
  void time.isOver.then(() => {
    isLate = true;
    running.kill();
  });
  time.resume();
  const { code, signal, brokeMemoryLimit } = await running.ended;
  time.pause();
  const words = wordsOf(stderr.text, stdout.text);
  const isFlood = characters > MOST_CHARACTERS;
  return {
    why: isFlood ? 'flood' : isLate ? 'deadline' : code === null ? 'signal' : 'code',
    code,
    signal,
    lastLine: stdout.lastLine,
    words: (isFlood ? FLOOD : '') + (brokeMemoryLimit ? memoryFull(memory) : '') + words + adviceOn(words, running),
  };
}

/** Resolves after a command was killed and has had a moment to end, or at once when it has ended. */
export const killed = async (running: RunningProgram): Promise<void> => {
  running.kill();
  await Promise.race([running.ended, later(5_000, undefined, { ref: false })]);
};

function wordsOf(errors: string, output: string): string {
  const said = [errors, output].map((text) => text.trim()).find((text) => text !== '');
  if (said === undefined) return 'It said nothing.';
  return `Its last words:${said.includes('\n') ? '\n' : ' '}${endOf(said, QUOTED_CHARACTERS)}`;
}

/** The end of an output. */
class Tail {
  text = '';
  private isCut = false;

  add(more: string): void {
    this.text += more;
    if (this.text.length <= 2 * KEPT_CHARACTERS) return;
    this.text = endOf(this.text, KEPT_CHARACTERS);
    this.isCut = true;
  }

  get lastLine(): string | null {
    const said = this.text.trimEnd();
    const from = said.lastIndexOf('\n') + 1;
    const isWhole = from > 0 || !this.isCut;
    return said === '' || !isWhole ? null : said.slice(from).trim();
  }
}
