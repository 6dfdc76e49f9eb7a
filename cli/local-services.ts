import type { Settings } from './settings';
import { CliError } from './errors';
import { diskProblem } from './supervisor/disk';
import { isWaitedFor, waitingText } from './supervisor/service-text';
import { askSupervisor, readKeptState } from './supervisor/supervisor-state';

/**
 * The problems of this state directory's `whet up` services that explain why a run does not continue, one sentence
 * each. Empty if all work, or if the Temporal server at `address` is not theirs.
 */
export async function localTrouble({ home }: Settings, address: string): Promise<string[]> {
  const state = await askSupervisor(home);
  if (state === null) {
    const kept = readKeptState(home);
    if (kept.kind !== 'state' || kept.state.temporal.address !== address) return [];
    const disk = diskProblem(home, 'WHET_HOME');
    return [
      ...(disk === null ? [] : [disk]),
      'The supervisor of `whet up` was killed, so nothing restarts what dies here. Run `whet up` again.',
    ];
  }
  if (state.temporal.address !== address) return [];
  return [
    ...(state.disk === null ? [] : [state.disk]),
    ...state.services
      .filter(isWaitedFor)
      .map(
        ({ name, status, note, log }) =>
          `The ${name} of \`whet up\` is ${status}${note === '' ? '' : `: ${note}`}. Its log: ${log}.`,
      ),
  ];
}

/**
 * The error of a command that came too early: the worker of `whet up` has not started yet, and its first start prepares
 * the Temporal server for the command. Null if this is not the cause.
 */
export async function workerNotReady({ home }: Settings, address: string): Promise<CliError | null> {
  const state = await askSupervisor(home);
  if (state === null || state.temporal.address !== address) return null;
  const open = state.services.filter(isWaitedFor);
  if (!open.some(({ name }) => name === 'worker')) return null;
  return new CliError(
    [
      `\`whet up\` is not ready yet: its worker has not prepared the Temporal server at ${address} for runs.`,
      ...(state.disk === null ? [] : [state.disk]),
      ...open.map(waitingText),
      open.some(({ status }) => status === 'failed')
        ? 'What failed is not started again: correct it, then `whet down` and `whet up`.'
        : 'Give the command again once `whet status` shows every service as ready or done.',
    ].join('\n'),
    { type: 'Up.NotReady' },
  );
}
