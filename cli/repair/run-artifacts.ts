import { artifactsIn, type Wanted } from './check-artifacts';
import type { RunHistory, ScheduledActivity } from './run-histories';
import { REPEATABLE } from './repeatable';

/** The origin of an artifact. */
type Origin =
  | { kind: 'activity'; activity: ScheduledActivity }
  /** A person gave it with `whet env edit`. */
  | { kind: 'person' }
  /** Another run made it. */
  | { kind: 'other-run'; runId: string }
  | { kind: 'unknown' };

/** Something that a run refers to, with its origin. */
export interface RunArtifact {
  wanted: Wanted;
  origin: Origin;
}

/**
 * Everything in the store that a run refers to, each once, in the order of creation. If several activities have the
 * same artifact in their results, the last one counts as its maker.
 */
export function runArtifacts(runId: string, { activities, edits }: RunHistory): RunArtifact[] {
  const found = new Map<string, RunArtifact>();
  const add = (value: unknown, originOf: (key: string) => Origin) => {
    for (const wanted of artifactsIn(value)) {
      const id = `${wanted.kind} ${wanted.key} ${wanted.sha256}`;
      const before = found.get(id);
      const origin = originOf(wanted.key);
      if (before === undefined) found.set(id, { wanted, origin });
      else if (origin.kind === 'activity') before.origin = origin;
    }
  };
  for (const activity of activities)
    add(activity.result, (key) =>
      activity.activity in REPEATABLE && (isOwn(runId, key) || key.startsWith('adapters/'))
        ? { kind: 'activity', activity }
        : foreign(runId, key),
    );
  for (const edit of edits) add(edit, () => ({ kind: 'person' }));
  // If only inputs name an artifact, an earlier run made it, such as the trajectories of a study.
  for (const { input } of activities) add(input, (key) => foreign(runId, key));
  return [...found.values()];
}

/** Whether a key is in a folder of the run. Each identification of a study has a folder, `<study>.<number>`. */
export function isOwn(runId: string, key: string): boolean {
  const [place, owner = ''] = key.split('/');
  return (place === 'runs' || place === 'studies') && (owner === runId || owner.startsWith(`${runId}.`));
}

function foreign(runId: string, key: string): Origin {
  const [place, owner] = key.split('/');
  return place === 'runs' && owner !== undefined && !isOwn(runId, key)
    ? { kind: 'other-run', runId: owner }
    : { kind: 'unknown' };
}
