import type { Contrast, Identification } from '../../contracts/artifacts/identification';
import type { Interval } from '../../contracts/artifacts/evaluation';
import type {
  AdapterGain,
  CapabilityDrift,
  NightDecision,
  NightPlan,
  NightReason,
  Nights,
} from '../../contracts/artifacts/night';
import { MIXED } from '../../contracts/names';
import { isEqualContent } from './night-content';
import { isRetirement, retirements, wasRetired, wasTriedWithout } from './retirements';

/** What a decision is made from. */
export interface NightEvidence {
  version: {
    version: number;
    runId: string;
    capabilityIds: readonly string[];
    /** Sha256 of its adapters, by capability. */
    adapters: ReadonlyMap<string, string>;
  };
  /** Capabilities of each version in the registry, by the run that made it. */
  made: ReadonlyMap<string, readonly string[]>;
  /** How each of its adapters does on its tasks. */
  gains: readonly AdapterGain[];
  /** What is lacking in more and more tasks. */
  drifts: readonly CapabilityDrift[];
  /** Hashes of adapters that a candidate can keep: there is a record of them. */
  keepable: ReadonlySet<string>;
  /** Whether a training may go on from what is served. */
  trainsOn: boolean;
  identification: Pick<Identification, 'contrasts' | 'thresholds'>;
  /** Gain tonight minus gain at the version's promotion. */
  change: Interval;
  /** The same of the pass rate; null where that at the promotion is not known. */
  rateChange: Interval | null;
  content: NightPlan['content'];
  nights: Nights['nights'];
  /** What the run that made the version found about each capability. */
  verdictsOfItsRun: ReadonlyMap<string, Contrast['verdict']>;
}

type Capability = NightDecision['capabilities'][number];

/** The capabilities for the system as it serves. */
export function servedCapabilities({ version, identification, drifts }: NightEvidence): Capability[] {
  const isMixed = version.capabilityIds.includes(MIXED);
  return identification.contrasts.map(({ capabilityId: id, verdict, status }) => ({
    id,
    state: withDrift(
      stateOf(verdict, status),
      drifts.some(({ capabilityId }) => capabilityId === id),
    ),
    // The mixed adapter was trained for everything that was lacking before it.
    inVersion: version.capabilityIds.includes(id) || (isMixed && status !== null && status !== 'new'),
  }));
}

function stateOf(verdict: Contrast['verdict'], status: Contrast['status']): Capability['state'] {
  switch (verdict) {
    case 'kept':
      return status === 'recurring' || status === 'regressed' ? status : 'new';
    case 'rejected':
      return status === 'fixed' ? 'fixed' : 'not-lacking';
    default:
      return 'cannot-tell';
  }
}

/** What one night alone has found says more than a trend. */
const withDrift = (state: Capability['state'], drifts: boolean): Capability['state'] =>
  drifts && state !== 'new' && state !== 'regressed' ? 'drifting' : state;

/**
 * Why a night goes on; and what of it an earlier night, or the version's own run, has worked on with the same content.
 *
 * Fewer tasks passed than at the promotion can be the luck of a hard block, and a smaller gain that of an easy one: the
 * version has lost something where both are smaller. Where base has lost as much, as when a tool changes for both, the
 * gain stays; then there has to be a capability to work on, be it by its estimate alone.
 */
export function nightReasons(
  evidence: NightEvidence,
  capabilities: readonly Capability[],
): { reasons: NightReason[]; seenBefore: NightReason[] } {
  const all = capabilities.flatMap((capability) => reasonOf(evidence, capability) ?? []);
  const lostRate = (evidence.rateChange?.high ?? -1) < 0;
  const mayLack = undecidedCapabilities(evidence, capabilities).length > 0;
  if (lostRate && (evidence.change.high < 0 || (evidence.rateChange !== null && mayLack)))
    all.push({ kind: 'lost-gain', capabilityId: null });
  const known = all.filter((reason) => wasWorkedOn(evidence, reason));
  const open = all.filter((reason) => !known.includes(reason));
  const without = retirements(evidence);
  const tried = without.filter((reason) => wasTriedWithout(evidence, reason));
  const untried = without.filter((reason) => !tried.includes(reason));
  return {
    // Alone, so that the gate judges what is served without this one adapter, and nothing else.
    reasons: open.length > 0 ? open : untried.slice(0, 1),
    seenBefore: [...known, ...tried],
  };
}

function reasonOf(evidence: NightEvidence, capability: Capability): NightReason | null {
  const { id: capabilityId, state, inVersion } = capability;
  if (!isLacking(evidence, capability)) return null;
  if (!inVersion) return { kind: 'new', capabilityId };
  const adapter = evidence.trainsOn ? evidence.version.adapters.get(capabilityId) : undefined;
  if (state === 'regressed' || (state !== 'new' && madeForOtherContent(evidence)))
    return { kind: 'regressed', capabilityId, ...(adapter !== undefined && { adapter }) };
  if (adapter === undefined) return null;
  // Below the thresholds it is only watched. Above, the nights before have said so already.
  if (state === 'drifting') return { kind: 'drifting', capabilityId, adapter };
  if (state !== 'recurring' || !wasLackingBefore(evidence, capabilityId)) return null;
  // Identification compares failures with successes: a good adapter fails now and then, too.
  const own = evidence.gains.find((gain) => gain.capabilityId === capabilityId);
  if (own !== undefined && 2 * own.passed >= own.tasks) return null;
  return { kind: 'recurring', capabilityId, adapter };
}

/** Whether it is lacking tonight, above the thresholds. */
const isLacking = ({ identification }: NightEvidence, { id, state }: Capability): boolean =>
  state === 'drifting'
    ? identification.contrasts.some(({ capabilityId, verdict }) => capabilityId === id && verdict === 'kept')
    : state === 'new' || state === 'recurring' || state === 'regressed';

/** Capabilities that are lacking although the version has an adapter of their own. */
export const lackingAsServed = (evidence: NightEvidence, capabilities: readonly Capability[]): string[] =>
  capabilities.flatMap((one) => (isLacking(evidence, one) && evidence.version.adapters.has(one.id) ? [one.id] : []));

/** One night plays a part of the tasks: what is said to be lacking still has to be so in two of them. */
const wasLackingBefore = ({ version, content, nights }: NightEvidence, capabilityId: string): boolean =>
  nights.some(
    (night) =>
      night.version === version.version &&
      isEqualContent(night.content, content) &&
      night.lacking?.includes(capabilityId) === true,
  );

/**
 * Whether a night has worked on a reason with the same content. A reason about an adapter counts once for that adapter,
 * in whatever version it is served.
 */
function wasWorkedOn(evidence: NightEvidence, { kind, capabilityId, adapter }: NightReason): boolean {
  const { version, content, nights } = evidence;
  const byNight = nights.some(
    (night) =>
      // A run that failed, was cancelled or expired has cured nothing.
      night.worked &&
      (adapter !== undefined || night.version === version.version) &&
      isEqualContent(night.content, content) &&
      night.reasons.some((reason) =>
        adapter === undefined
          ? reason.kind === kind && reason.capabilityId === capabilityId
          : reason.adapter === adapter && reason.capabilityId === capabilityId && !isRetirement(reason),
      ),
  );
  if (byNight || kind !== 'new' || capabilityId === null) return byNight;
  // The same content would give the adapter that was retired.
  return verdictOfItsRun(evidence, capabilityId) === 'kept' || wasRetired(evidence, capabilityId);
}

/** Whether the version was made from other content: today's environment and options have not been tried. */
const madeForOtherContent = ({ version, content, nights }: NightEvidence): boolean =>
  nights.some((night) => night.runId === version.runId && !isEqualContent(night.content, content));

/** What the version's own run found about a capability, if the content is the same today. */
function verdictOfItsRun(
  { version, content, nights, verdictsOfItsRun }: NightEvidence,
  capabilityId: string,
): Contrast['verdict'] | undefined {
  const isSame = nights.some((night) => night.runId === version.runId && isEqualContent(night.content, content));
  return isSame ? verdictsOfItsRun.get(capabilityId) : undefined;
}

/**
 * Candidates without an adapter that pass both thresholds by their estimates, but not by their intervals. What the
 * version's own run had rejected on the same content is not one of them: it had all train tasks to see it.
 */
export function undecidedCapabilities(evidence: NightEvidence, capabilities: readonly Capability[]): string[] {
  const { contrasts, thresholds } = evidence.identification;
  const open = new Set(capabilities.flatMap(({ id, inVersion }) => (inVersion ? [] : [id])));
  return contrasts.flatMap(({ capabilityId, verdict, gap, coverage }) =>
    open.has(capabilityId) &&
    verdict === 'not-enough-data' &&
    gap !== null &&
    gap >= thresholds.minGap &&
    coverage >= thresholds.minCoverage &&
    verdictOfItsRun(evidence, capabilityId) !== 'rejected'
      ? [capabilityId]
      : [],
  );
}
