import { cleanBlock, cleanLine } from '../../contracts/clean-text';
import type { RunProgress } from '../../contracts/messages/run';
import { duration } from '../output';
import { sinceText, untilText, type Wait, WAITS_FOR, waitsOf } from './waits';

/** Time after which a wait for a person is printed again. */
const WAIT_EVERY_MS = 300_000;

/** A printed wait, and the time of printing. */
interface Printed {
  text: string;
  at: number;
}

/** The waits of a run that need a person. */
const personsWaits = (runId: string, progress: RunProgress): Wait[] => waitsOf(runId, { ...progress, failing: [] });

/** The text of a wait: for whom, since when, why, and the commands for another terminal. */
function waitText({ key, who, since, until, reason, commands }: Wait, runId: string, now: number): string {
  const deadline = untilText(until === null ? undefined : Date.parse(until), now);
  const answers = commands.length > 0 ? commands : [`whet why ${runId}`];
  const why = withoutCommands(reason, commands);
  return [
    cleanBlock(`waits ${WAITS_FOR[who]}, ${sinceText(Date.parse(since), now)}${deadline}. ${key}: ${why}`),
    `  in another terminal${answers.length > 1 ? ', one of' : ''}:`,
    ...answers.map((command) => `    ${cleanLine(command)}`),
  ].join('\n');
}

/** A reason without its last sentence if that only names the commands, which are printed below it. */
function withoutCommands(reason: string, commands: readonly string[]): string {
  const at = reason.lastIndexOf(' Then: ');
  if (at < 0) return reason;
  const last = reason.slice(at + ' Then: '.length).split(/, or |, /);
  return last.every((part) => commands.includes(part)) ? reason.slice(0, at) : reason;
}

/** Decides which waits of a run to print, and records the printed ones. */
interface WaitLines {
  /**
   * The text of each wait that began or changed since the last call. With `repeats`, it also has each wait that was
   * printed five minutes ago.
   */
  news(runId: string, progress: RunProgress, now: number, repeats: boolean): string[];
}

/** The waits of one run, with none printed yet. */
export function createWaitLines(): WaitLines {
  let known = new Map<string, Printed>();
  return {
    news(runId, progress, now, repeats) {
      const waits = personsWaits(runId, progress);
      const next = new Map<string, Printed>();
      const texts: string[] = [];
      for (const wait of waits) {
        const text = JSON.stringify([wait.who, wait.reason, wait.since]);
        const before = known.get(wait.key);
        const isNew = before?.text !== text;
        const isPrinted = isNew || (repeats && now - before.at >= WAIT_EVERY_MS);
        if (isPrinted) texts.push(waitText(wait, runId, now));
        next.set(wait.key, { text, at: isPrinted ? now : before.at });
      }
      known = next;
      return texts;
    },
  };
}

/** The waits of a run as lines of the table that is redrawn; each may be cut at the terminal's width. */
export function liveWaitLines(runId: string, progress: RunProgress, now: number): string[] {
  return personsWaits(runId, progress).map(({ key, who, since, commands }) => {
    const answers = commands.length > 0 ? commands.join(' | ') : `whet why ${runId}`;
    const waited = duration(Math.max(0, now - Date.parse(since)) / 1000);
    return cleanLine(`${key} waits ${WAITS_FOR[who]}, ${waited}: ${answers}`);
  });
}
