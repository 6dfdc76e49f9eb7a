import type { Dictionary, DictionaryEntry } from '../../../contracts/artifacts/dictionary';
import type { Candidate, Contrast, Merge } from '../../../contracts/artifacts/identification';

const MAX_HISTORY = 50;

type Status = Contrast['status'];

/**
 * Status of a capability: its verdict in this run, compared with its state after the last run. `state` is undefined if
 * it was not known before.
 */
export function statusOf(
  state: DictionaryEntry['state'] | undefined,
  { verdict, missed }: Pick<Contrast, 'verdict' | 'missed'>,
): Status {
  // A companion of another capability may be lacking as before.
  if (missed.includes('effect')) return null;
  if (verdict === 'kept') return state === 'lacking' ? 'recurring' : state === 'fixed' ? 'regressed' : 'new';
  return verdict === 'rejected' && (state === 'lacking' || state === 'fixed') ? 'fixed' : null;
}

/** State of a capability after this run. A verdict of not enough data changes nothing. */
export function stateAfter(
  state: DictionaryEntry['state'] | undefined,
  { verdict, missed }: Pick<Contrast, 'verdict' | 'missed'>,
): DictionaryEntry['state'] {
  if (missed.includes('effect')) return state ?? 'never';
  if (verdict === 'kept') return 'lacking';
  if (verdict === 'rejected') return state === 'lacking' || state === 'fixed' ? 'fixed' : 'never';
  return state ?? 'never';
}

/** The contrasts, each with the capability's status relative to the dictionary. */
export function withStatus(contrasts: readonly Contrast[], dictionary: Dictionary): Contrast[] {
  const known = new Map(dictionary.entries.map((entry) => [entry.id, entry.state]));
  return contrasts.map((contrast) => ({
    ...contrast,
    status: statusOf(known.get(contrast.capabilityId), contrast),
  }));
}

/** The findings of a run for the dictionary. */
export interface RunFindings {
  runId: string;
  candidates: readonly Candidate[];
  /** With their status set. */
  contrasts: readonly Contrast[];
  merges: readonly Merge[];
}

/**
 * The dictionary after a run. Findings of this run that it already has stay unchanged, because a call may be repeated.
 */
export function rememberRun(dictionary: Dictionary, { runId, candidates, contrasts, merges }: RunFindings): Dictionary {
  const entries = new Map(dictionary.entries.map((entry) => [entry.id, entry]));
  // Whether it can be trained is the analyst's word in one run.
  for (const { notTrainable: _, ...candidate } of candidates) {
    const contrast = contrasts.find(({ capabilityId }) => capabilityId === candidate.id);
    const before = entries.get(candidate.id);
    if (!contrast || before?.history.some((event) => event.runId === runId)) continue;
    const { verdict, status, gap, coverage } = contrast;
    const aliases = merges.filter(({ into }) => into === candidate.id).map(({ name }) => name);
    entries.set(candidate.id, {
      // The first wording stays, because labels are stored by wording.
      ...(before ?? candidate),
      state: stateAfter(before?.state, contrast),
      aliases: [...new Set([...(before?.aliases ?? []), ...aliases])],
      history: [...(before?.history ?? []), { runId, verdict, status, gap, coverage }].slice(-MAX_HISTORY),
    });
  }
  return { ...dictionary, entries: [...entries.values()] };
}
