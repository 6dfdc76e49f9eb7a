import { endOf } from '../contracts/clean-text';

/** The head line of a warning as Python prints it; the line after it quotes the source. */
const WARNING = /^(?:\S.*:\d+: )?\w*Warning: /;
/** The beginning of the trainer's sentence about why it ends. */
const LAST_WORD = /^whetstone\.train: /;

/**
 * The lines of a trainer's log that say why it ended: from its own last sentence or its last traceback on, without
 * warnings and blank lines. If there is neither, the last lines.
 * @param options.lines,characters largest numbers; excess is cut from the beginning.
 */
export function relevantLines(log: string, { lines, characters }: { lines: number; characters: number }): string {
  const kept = withoutWarnings(log.split('\n'));
  const start = Math.max(
    kept.findLastIndex((line) => LAST_WORD.test(line)),
    kept.findLastIndex((line) => line.startsWith('Traceback (most recent call last)')),
    0,
  );
  const text = kept.slice(start).slice(-lines).join('\n');
  return text.length <= characters ? text : `…${endOf(text, characters)}`;
}

function withoutWarnings(lines: readonly string[]): string[] {
  return lines.filter((line, index) => {
    if (line.trim() === '' || WARNING.test(line)) return false;
    return !(line.startsWith('  ') && WARNING.test(lines[index - 1] ?? ''));
  });
}
