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
import { meanOrZero } from '../statistics/mean';
import { isEqualContent } from '../reuse/equal-content';
import { isRetirement, retirements, wasRetired, wasTriedWithout } from './retirements';

/** The facts on which a decision depends. */
export interface NightEvidence {
  version: {
    version: number;
    runId: string;
    capabilityIds: readonly string[];
    /** Sha256 of its adapters, by capability. */
    adapters: ReadonlyMap<string, string>;
  };
  /** Capabilities of each version in the registry, keyed by the run that made it. */
  made: ReadonlyMap<string, readonly string[]>;
  /** The gain of each of its adapters on its tasks. */
  gains: readonly AdapterGain[];
  /** Capabilities that are lacking in a growing share of the tasks. */
  drifts: readonly CapabilityDrift[];
  /** Hashes of adapters that a candidate can keep, because they have a record. */
  keepable: ReadonlySet<string>;
  /** Whether a training may start from the served adapter. */
  trainsOn: boolean;
  identification: Pick<Identification, 'contrasts' | 'thresholds'>;
  /** Tonight's gain minus the gain at the version's promotion. */
  change: Interval;
  /** The same difference for the pass rate; null if the rate at the promotion is unknown. */
  rateChange: Interval | null;
  content: NightPlan['content'];
  nights: Nights['nights'];
  /** The findings about each capability in the run that made the version. */
  verdictsOfItsRun: ReadonlyMap<string, Contrast['verdict']>;
}

type Capability = NightDecision['capabilities'][number];

/** The capabilities, judged for the active version. */
export function servedCapabilities(evidence: NightEvidence): Capability[] {
  const { version, identification, drifts, verdictsOfItsRun } = evidence;
  const isMixed = version.capabilityIds.includes(MIXED);
  return identification.contrasts.map(({ capabilityId: id, verdict, status }) => ({
    id,
    state: withDrift(
      stateOf(verdict, status),
      drifts.some(({ capabilityId }) => capabilityId === id),
    ),
    // The mixed adapter was trained for every capability that was lacking when this version was made.
    inVersion:
      version.capabilityIds.includes(id) ||
      (isMixed && (verdictsOfItsRun.get(id) === 'kept' || (status !== null && status !== 'new'))),
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

/** A finding of a single night is stronger evidence than a trend. */
const withDrift = (state: Capability['state'], drifts: boolean): Capability['state'] =>
  drifts && state !== 'new' && state !== 'regressed' ? 'drifting' : state;

/**
 * The reasons for which a night continues. An earlier night, or the version's own run, has already worked on some of
 * them with the same inputs.
 *
 * A lower pass rate than at the promotion can mean a hard block of tasks, and a smaller gain can mean an easy one. The
 * version has lost something if both are smaller. If base has lost as much, for example because a tool changed for
 * both, the gain stays the same. Then some capability must be lacking as well; its estimate is enough.
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
    // It is the only reason, so that the gate judges the served version without this one adapter.
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
  // Below the thresholds the drift is only watched. Above them, an earlier night already gave it as a reason.
  if (state === 'drifting') return { kind: 'drifting', capabilityId, adapter };
  if (state !== 'recurring' || !wasLackingBefore(evidence, capabilityId)) return null;
  // Identification compares failures with successes, and even a good adapter fails at times.
  const own = evidence.gains.find((gain) => gain.capabilityId === capabilityId);
  if (own !== undefined && 2 * own.passed >= own.tasks) return null;
  return { kind: 'recurring', capabilityId, adapter };
}

/** Whether the capability is lacking tonight, above the thresholds. */
const isLacking = ({ identification }: NightEvidence, { id, state }: Capability): boolean =>
  state === 'drifting'
    ? identification.contrasts.some(({ capabilityId, verdict }) => capabilityId === id && verdict === 'kept')
    : state === 'new' || state === 'recurring' || state === 'regressed';

/** Capabilities that are lacking although the version has an adapter for them. */
export const lackingAsServed = (evidence: NightEvidence, capabilities: readonly Capability[]): string[] =>
  capabilities.flatMap((one) => (isLacking(evidence, one) && evidence.version.adapters.has(one.id) ? [one.id] : []));

/** One night plays only a part of the tasks, so a capability counts as still lacking after two such nights. */
const wasLackingBefore = ({ version, content, nights }: NightEvidence, capabilityId: string): boolean =>
  nights.some(
    (night) =>
      night.version === version.version &&
      isEqualContent(night.content, content) &&
      night.lacking?.includes(capabilityId) === true,
  );

/**
 * Whether a night with the same inputs has worked on a reason. A reason about an adapter counts once for that adapter,
 * in any version that serves it.
 */
function wasWorkedOn(evidence: NightEvidence, { kind, capabilityId, adapter }: NightReason): boolean {
  const { version, content, nights } = evidence;
  const byNight = nights.some(
    (night) =>
      // A run that failed, was cancelled or expired has changed nothing.
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
  // The same inputs would give the retired adapter again.
  return verdictOfItsRun(evidence, capabilityId) === 'kept' || wasRetired(evidence, capabilityId);
}

/** Whether the version was made from other inputs, so that today's environment and options were never tried. */
const madeForOtherContent = ({ version, content, nights }: NightEvidence): boolean =>
  nights.some((night) => night.runId === version.runId && !isEqualContent(night.content, content));

/** What the version's own run found about a capability; undefined if its inputs differ from today's. */
function verdictOfItsRun(
  { version, content, nights, verdictsOfItsRun }: NightEvidence,
  capabilityId: string,
): Contrast['verdict'] | undefined {
  const isSame = nights.some((night) => night.runId === version.runId && isEqualContent(night.content, content));
  return isSame ? verdictsOfItsRun.get(capabilityId) : undefined;
}

/** Fewest failures that lack a capability before it may be lacking: wrong labels alone may give fewer. */
const FEWEST_LACKING = 5;

/**
 * Candidates without an adapter whose estimates pass both thresholds but whose intervals do not. A candidate is left
 * out if it is inseparable from another one, whose adapter may do for both, or if fewer failures lack it than wrong
 * labels may give. It is also left out if the version's own run rejected it with the same inputs, because that run
 * played all train tasks.
 */
export function undecidedCapabilities(evidence: NightEvidence, capabilities: readonly Capability[]): string[] {
  const { contrasts, thresholds } = evidence.identification;
  const open = new Set(capabilities.flatMap(({ id, inVersion }) => (inVersion ? [] : [id])));
  return contrasts.flatMap(({ capabilityId, verdict, gap, coverage, partial, runs }) =>
    open.has(capabilityId) &&
    verdict === 'not-enough-data' &&
    partial.goesWith === null &&
    gap !== null &&
    gap >= thresholds.minGap &&
    coverage >= thresholds.minCoverage &&
    meanOrZero(runs.map(({ counts }) => counts.failureLacking)) >= FEWEST_LACKING &&
    verdictOfItsRun(evidence, capabilityId) !== 'rejected'
      ? [capabilityId]
      : [],
  );
}
