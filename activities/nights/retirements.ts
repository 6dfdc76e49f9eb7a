import type { NightReason } from '../../contracts/artifacts/night';
import { MIXED } from '../../contracts/names';
import { isEqualContent } from '../reuse/equal-content';
import type { NightEvidence } from './night-reasons';

/** Whether a reason asks for a test of the served version without an adapter. */
export const isRetirement = ({ kind }: Pick<NightReason, 'kind'>): boolean =>
  kind === 'harms' || kind === 'no-longer-helps';

/**
 * Adapters without which the version may be better, the worst first. Empty if all adapters qualify: the rest would not
 * beat base, and a person can roll back. Empty if the mixed adapter is served as well: no candidate keeps it, so the
 * test would remove two adapters. Empty if another adapter has no record, because no candidate can keep that one
 * either.
 */
export function retirements({ gains, version, keepable }: NightEvidence): NightReason[] {
  if (version.adapters.has(MIXED)) return [];
  const found = [...gains]
    .sort((a, b) => a.gain.estimate - b.gain.estimate)
    .flatMap(({ capabilityId, sha256, verdict }): NightReason[] =>
      verdict === 'harms' || verdict === 'no-longer-helps' ? [{ kind: verdict, capabilityId, adapter: sha256 }] : [],
    );
  if (found.length === gains.length) return [];
  const lost = [...version.adapters]
    .filter(([, sha256]) => !keepable.has(sha256))
    .map(([capabilityId]) => capabilityId);
  return found.filter((reason) => lost.every((capabilityId) => capabilityId === reason.capabilityId));
}

/**
 * Whether the version was tested without this adapter with the same inputs: the held-out tasks would give the same
 * result. If that night had other reasons as well, or trained an adapter, it judged all changes together and more
 * strictly. Such a night does not count as this test.
 */
export const wasTriedWithout = (
  { version, content, nights }: NightEvidence,
  { capabilityId, adapter }: NightReason,
): boolean =>
  nights.some(
    (night) =>
      night.worked &&
      night.triedAlone !== false &&
      night.version === version.version &&
      isEqualContent(night.content, content) &&
      night.reasons.length > 0 &&
      night.reasons.every(
        (reason) => isRetirement(reason) && reason.adapter === adapter && reason.capabilityId === capabilityId,
      ),
  );

/**
 * Whether a capability has no adapter because a night with the same inputs retired it: that night made a version
 * without it.
 */
export const wasRetired = ({ version, made, content, nights }: NightEvidence, capabilityId: string): boolean =>
  !version.adapters.has(capabilityId) &&
  nights.some(
    (night) =>
      night.worked &&
      made.get(night.runId)?.includes(capabilityId) === false &&
      isEqualContent(night.content, content) &&
      night.reasons.some((reason) => isRetirement(reason) && reason.capabilityId === capabilityId),
  );

/** Capabilities whose adapter was retired with the same inputs. */
export const retiredBefore = (evidence: NightEvidence): string[] => [
  ...new Set(
    evidence.nights.flatMap(({ reasons }) =>
      reasons.flatMap(({ capabilityId }) =>
        capabilityId !== null && wasRetired(evidence, capabilityId) ? [capabilityId] : [],
      ),
    ),
  ),
];
