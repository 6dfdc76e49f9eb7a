import { setTimeout as sleep } from 'node:timers/promises';
import { type Client, isGrpcServiceError } from '@temporalio/client';
import type { Output } from '../output';
import { readRunState, type RunState } from './run-state';
import { formatStageLine, type StageLine, stageLines } from './stage-lines';

/** Without a terminal, a line about the running stage is printed this often. */
const PLAIN_EVERY_MS = 10_000;
const POLL_MS = 1_000;
/** A server that restarts is back within this time; a longer silence is a failure. */
const PATIENCE_MS = 60_000;

/**
 * Shows one live line for each stage until the run ends or `signal` aborts, and returns the last state. Without a
 * terminal it prints a line when a stage changes, and one every ten seconds for the stage that runs.
 * @throws the server's error when it does not answer for a minute.
 */
export async function followRun(client: Client, runId: string, out: Output, signal?: AbortSignal): Promise<RunState> {
  const printer = createPrinter(out);
  let unreachableSince: number | null = null;
  for (;;) {
    try {
      const state = await readRunState(client, runId);
      unreachableSince = null;
      printer.show(state);
      if (state.status !== 'running' || signal?.aborted === true) return state;
    } catch (error) {
      if (!isGrpcServiceError(error)) throw error;
      unreachableSince ??= Date.now();
      if (Date.now() - unreachableSince > PATIENCE_MS) throw error;
    }
    await sleep(POLL_MS, undefined, signal ? { signal } : {}).catch(() => undefined);
  }
}

/**
 * Makes a printer of run states. It remembers when each stage was first seen running, because the workflow gives the
 * time of ended stages only.
 */
function createPrinter(out: Output): { show(state: RunState): void } {
  const since = new Map<string, number>();
  const printed = new Map<string, { status: string; text: string; at: number }>();
  let waiting: string | null = null;

  const timed = (line: StageLine, now: number): StageLine => {
    if (line.status !== 'running' && line.status !== 'paused') return line;
    if (!since.has(line.name)) since.set(line.name, now);
    return { ...line, seconds: line.seconds ?? (now - (since.get(line.name) ?? now)) / 1000 };
  };
  const isWorthALine = (line: StageLine, now: number): boolean => {
    const last = printed.get(line.name);
    if (last === undefined) return line.status !== 'waiting' && line.status !== '?';
    if (last.status !== line.status) return line.status !== '?';
    return line.status === 'running' && line.text !== last.text && now - last.at >= PLAIN_EVERY_MS;
  };

  return {
    show(state) {
      // A worker that restarts does not answer for a moment; the last lines stay.
      if (state.progress === null && state.status === 'running') return;
      const lines = stageLines(state).map((line) => timed(line, state.now));
      const wait = state.progress?.waitingFor ?? null;
      if (out.live) {
        out.redraw([...lines.map(formatStageLine), ...(wait === null ? [] : [`waits: ${wait}`])]);
        if (state.status !== 'running') out.settle();
        return;
      }
      for (const line of lines.filter((l) => isWorthALine(l, state.now))) {
        printed.set(line.name, { status: line.status, text: line.text, at: state.now });
        out.line(formatStageLine(line));
      }
      if (wait !== waiting && wait !== null) out.line(`waits: ${wait}`);
      waiting = wait;
    },
  };
}
