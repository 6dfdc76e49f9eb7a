import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import { CliError } from '../errors';
import { withInterrupt } from '../foreground';
import { duration, type Output } from '../output';
import { isTroubleOfServer, serverError } from '../temporal-errors';
import { createFailingLines } from './failing-lines';
import { readRunState, type RunState } from './run-state';
import { formatStageLine, prepareLine, type StageLine, stageLines } from './stage-lines';
import { createWaitLines, liveWaitLines } from './wait-lines';

/** Without a terminal, this is the time between lines about a running stage with news. */
const PLAIN_EVERY_MS = 10_000;
/** Without a terminal, this is the time between lines about a stage without news. */
const STILL_EVERY_MS = 60_000;
/** First checks that take longer get a line of their own. */
const SHORT_CHECKS_SECONDS = 10;
const POLL_MS = 1_000;
/**
 * A server that restarts, or whose disk gets free space again, is back within this time; longer silence is a failure.
 */
const PATIENCE_MS = 600_000;

/**
 * Shows one live line for each stage until the run ends or `signal` fires, and returns the last state. Without a
 * terminal it prints a line when a stage changes, every ten seconds for a stage with news, and every minute for a stage
 * without news. A wait is printed, with the commands that answer it, when it begins or changes. Without a terminal it
 * is also repeated every five minutes. An attempt that failed and is made again is printed once for each failure, with
 * what to do: in the first checks at once, in a stage from the second time on. While the server has trouble, it says so
 * and asks again; it also says when the server is back.
 * @throws the server's error if it lasts ten minutes.
 */
export async function followRun(client: Client, runId: string, out: Output, signal: AbortSignal): Promise<RunState> {
  const printer = createPrinter(out);
  let troubleSince: number | null = null;
  let last: RunState | null = null;
  for (;;) {
    try {
      const state = await readRunState(client, runId);
      if (troubleSince !== null)
        out.line(`The Temporal server answers again after ${duration((performance.now() - troubleSince) / 1000)}.`);
      troubleSince = null;
      last = state;
      printer.show(state);
      if (state.status !== 'running') return state;
    } catch (error) {
      if (!isTroubleOfServer(error)) throw error;
      if (troubleSince === null)
        out.line(
          `The Temporal server gives no answer (${serverError(error)?.details ?? ''}). The run is not lost; ` +
            'trying again for ten minutes.',
        );
      troubleSince ??= performance.now();
      if (performance.now() - troubleSince > PATIENCE_MS) throw error;
      if (signal.aborted && last === null) throw error;
    }
    if (signal.aborted && last !== null) return last;
    await sleep(POLL_MS, undefined, { signal }).catch(() => undefined);
  }
}

/**
 * Shows a run to its end, for a command that does nothing else: Ctrl-C ends the command, not the run.
 * @throws CliError `Run.GoesOn` after Ctrl-C.
 */
export async function followToEnd(client: Client, runId: string, out: Output): Promise<RunState> {
  const state = await withInterrupt((signal) => followRun(client, runId, out, signal));
  // Only Ctrl-C can end it before the run has ended.
  if (state.status !== 'running') return state;
  throw new CliError(
    `${runId} goes on. \`whet status ${runId} --follow\` shows it again; \`whet cancel ${runId}\` ends it for good.`,
    { type: 'Run.GoesOn' },
  );
}

/**
 * Makes a printer of run states for `followRun`. It records when each stage was first seen running, because the
 * workflow gives only the times of ended stages.
 */
export function createPrinter(out: Output): { show(state: RunState): void } {
  const since = new Map<string, number>();
  const printed = new Map<string, { status: string; text: string; at: number }>();
  const waits = createWaitLines();
  const failing = createFailingLines();

  const timed = (line: StageLine, now: number): StageLine => {
    if (line.status !== 'running' && line.status !== 'paused') return line;
    if (!since.has(line.name)) since.set(line.name, now);
    return { ...line, seconds: line.seconds ?? (now - (since.get(line.name) ?? now)) / 1000 };
  };
  const isWorthALine = (line: StageLine, now: number): boolean => {
    const last = printed.get(line.name);
    if (last === undefined && line.name === 'prepare') return (line.seconds ?? 0) >= SHORT_CHECKS_SECONDS;
    if (last === undefined) return line.status !== 'waiting' && line.status !== '?';
    if (last.status !== line.status) return line.status !== '?';
    if (line.status !== 'running' && line.status !== 'paused') return false;
    // The first checks have no news but the number of their attempt: what fails is told in full once.
    const isStill = line.text === last.text || line.name === 'prepare';
    return now - last.at >= (isStill ? STILL_EVERY_MS : PLAIN_EVERY_MS);
  };

  return {
    show(state) {
      // A restarting worker does not answer for a moment; meanwhile the last lines stay.
      if (state.progress === null && state.status === 'running') return;
      const prepare = prepareLine(state);
      const shown = [...(prepare === null ? [] : [prepare]), ...stageLines(state)];
      const lines = shown.map((line) => timed(line, state.now));
      const { progress, runId, now } = state;
      const news = [...failing.news(state), ...(progress === null ? [] : waits.news(runId, progress, now, !out.live))];
      if (out.live) {
        // A drawn line is cut at the terminal's width, so a wait or a failure is printed in full above the table.
        if (news.length > 0) out.redraw([]);
        for (const text of news) out.line(text);
        out.redraw([...lines.map(formatStageLine), ...(progress === null ? [] : liveWaitLines(runId, progress, now))]);
        return;
      }
      for (const line of lines.filter((l) => isWorthALine(l, state.now))) {
        printed.set(line.name, { status: line.status, text: line.text, at: state.now });
        out.line(formatStageLine(line));
      }
      for (const text of news) out.line(text);
    },
  };
}
