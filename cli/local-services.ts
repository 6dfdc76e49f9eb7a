import type { Settings } from './settings';
import { diskProblem } from './supervisor/disk';
import { askSupervisor, readKeptState } from './supervisor/supervisor-state';

/** What `whet up` runs on this machine, as far as it explains why a run there does not go on. */
export interface LocalServices {
  /** A sentence for each thing that is wrong; empty when everything works. */
  trouble: string[];
}

/**
 * Looks at the services of `whet up` in this state directory. Null where the Temporal server at `address` is not
 * theirs: then they say nothing about its runs.
 */
export async function localServices({ home }: Settings, address: string): Promise<LocalServices | null> {
  const state = await askSupervisor(home);
  if (state === null) {
    const kept = readKeptState(home);
    if (kept.kind !== 'state' || kept.state.temporal.address !== address) return null;
    const disk = diskProblem(home, 'WHET_HOME');
    return {
      trouble: [
        ...(disk === null ? [] : [disk]),
        'The supervisor of `whet up` was killed, so nothing restarts what dies here. Run `whet up` again.',
      ],
    };
  }
  if (state.temporal.address !== address) return null;
  const down = state.services.filter((s) => s.status !== 'ready' && s.status !== 'done');
  return {
    trouble: [
      ...(state.disk === null ? [] : [state.disk]),
      ...down.map(
        ({ name, status, note, log }) =>
          `The ${name} of \`whet up\` is ${status}${note === '' ? '' : `: ${note}`}. Its log: ${log}.`,
      ),
    ],
  };
}
