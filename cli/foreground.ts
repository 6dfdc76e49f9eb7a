import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';

/**
 * Waits until a program of ours that uses the terminal ends. Then this process exits with the same code. The program
 * itself gets the terminal's Ctrl-C.
 */
export async function waitInForeground(child: ChildProcess): Promise<void> {
  process.on('SIGINT', () => undefined);
  process.on('SIGTERM', () => child.kill('SIGTERM'));
  const [code] = (await once(child, 'exit')) as [number | null];
  process.exitCode = code ?? 1;
}

/**
 * Runs an action with an AbortSignal that fires at Ctrl-C, instead of ending the process. The signals in `signals`
 * count as Ctrl-C.
 */
export async function withInterrupt<T>(
  action: (signal: AbortSignal) => Promise<T>,
  signals: readonly NodeJS.Signals[] = ['SIGINT'],
): Promise<T> {
  const stop = new AbortController();
  const interrupt = () => stop.abort();
  for (const signal of signals) process.once(signal, interrupt);
  try {
    return await action(stop.signal);
  } finally {
    for (const signal of signals) process.removeListener(signal, interrupt);
  }
}
