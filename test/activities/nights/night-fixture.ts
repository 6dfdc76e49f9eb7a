import { decideNight } from '../../../activities/nights/decide-night';
import { planNight } from '../../../activities/nights/plan-night';
import { type NightDecision, nightDecisionSchema } from '../../../contracts/artifacts/night';
import type { AgentSpecInput } from '../../../contracts/config/agent-spec';
import type { NightDecisionResult } from '../../../contracts/messages/night-stage';
import { addVersion, changeNights, changeRegistry, getJson, layout, putJson, putLines } from '../../../store';
import { RunFixture } from '../run-fixture';

/** The agent's environment: a night plays 20 of its 40 train tasks. */
export const SPEC_ENVIRONMENT = {
  path: 'parcel_desk.py',
  trainSeeds: { start: 0, count: 40 },
  heldOutSeeds: { start: 1000, count: 10 },
  maxTurns: 4,
};

/** What identification found of a capability. */
export interface FoundContrast {
  capabilityId: string;
  verdict: string;
  status: string | null;
  gap?: number;
  coverage?: number;
  /** Failures that lack it. Default: 10. */
  lacking?: number;
  /** The candidate that it is inseparable from. */
  goesWith?: string;
}

/** What was played in a night. Default: 20 tasks of which base passes none. */
export interface Played {
  /** Conversations of live traffic that were identified on, too. */
  live?: number | undefined;
  /** Episodes of earlier nights that were identified on, too. */
  earlier?: number;
  tasks?: number;
  base?: (seed: number) => boolean;
  served?: (seed: number) => boolean;
  /** Tasks that failed, by arm. */
  failed?: { base?: readonly number[]; served?: readonly number[] };
  /** In how many of the tasks a capability is lacking. Default: no labels. */
  lacking?: Record<string, number>;
  /** The capability that gets a task. Default: `a` gets the first that is not passed, and base all others. */
  routing?: (seed: number) => string;
}

/** A capability that is lacking. */
export const kept = (capabilityId: string, status: string): FoundContrast => ({
  capabilityId,
  verdict: 'kept',
  status,
});

/** A store in which nights are planned and decided. */
export class NightFixture extends RunFixture {
  /** Whether promoted adapters have records, as those have that this version of Whetstone trained. */
  keepsRecords = true;

  /** Freezes the spec of a run. */
  prepareNight(runId: string, spec: Partial<AgentSpecInput> = {}) {
    return this.prepare('http://127.0.0.1:9/v1', { environment: SPEC_ENVIRONMENT, ...spec }, 'parcel_desk.py', runId);
  }

  /** Puts a version with an adapter for each capability into the registry. */
  async promote(runId: string, ids = ['a', 'b'], baseModelSha256 = '0'.repeat(64), sha256 = '1'.repeat(64)) {
    if (this.keepsRecords) await this.record(runId, ids[0]!, sha256);
    return changeRegistry(this.store, 'parcels', (registry) =>
      addVersion(registry, {
        runId,
        createdAt: '2026-11-23T00:00:00Z',
        baseModelSha256,
        adapters: ids.map((id) => ({
          name: `${id}@1`,
          capabilityId: id,
          summary: id,
          key: `adapters/parcels/${id}-1`,
          sha256,
        })),
        routedMinusBase: { estimate: 0.5, low: 0.4, high: 0.6 },
        judgedRouter: {
          kind: 'base',
          artifact: { key: 'r.json', sha256: '0'.repeat(64), bytes: 1, mediaType: 'application/json' },
        },
      }),
    );
  }

  /** Keeps a record of an adapter, as its training does. */
  private async record(runId: string, capabilityId: string, sha256: string): Promise<void> {
    const key = `${layout.reuse('parcels')}/adapter-${sha256.slice(0, 24)}.json`;
    if ((await this.store.readDocument(key)) !== null) return;
    const manifest = await putJson(this.store, layout.training(runId, capabilityId), 'manifest.json', {});
    const adapter = {
      ...{ name: `${capabilityId}@1`, capabilityId, sha256, key: `adapters/parcels/${capabilityId}-1`, manifest },
      ...{ rollouts: 128, seconds: 2, finalReward: 0.9 },
    };
    await this.store.swapDocument(key, { runId, dependsOn: { baseModel: '0'.repeat(64) }, adapter }, null);
  }

  /** Lets every night so far have ended with a result. */
  endNights() {
    return changeNights(this.store, 'parcels', (before) => ({
      ...before,
      nights: before.nights.map((one) => ({ ...one, worked: true })),
    }));
  }

  /** A night of which the version passes the first `passed` tasks. It is decided twice, with the same result. */
  async decide(
    runId: string,
    contrasts: readonly FoundContrast[],
    passed = 10,
    spec: Partial<AgentSpecInput> = {},
    {
      tasks = 20,
      base = () => false,
      served = (seed) => seed < passed,
      live,
      earlier,
      lacking = {},
      ...played
    }: Played = {},
  ): Promise<{ result: NightDecisionResult; decision: NightDecision }> {
    const { store } = this;
    const context = await this.prepareNight(runId, spec);
    const planned = await this.run(planNight.bind(null, store), context);
    const seeds = Array.from({ length: tasks }, (_, seed) => seed);
    const lost = seeds.find((seed) => !served(seed));
    const routing = played.routing ?? ((seed) => (seed === lost ? 'a' : ''));
    const arm = async (name: string, passes: (seed: number) => boolean, failed: readonly number[] = []) => ({
      arm: name,
      kind: 'base' as const,
      rollouts: {
        ...(failed.length > 0 && { failed: { judge: failed.length } }),
        trajectories: await putLines(
          store,
          layout.evaluation(runId),
          `${name}.jsonl`,
          seeds
            .filter((seed) => !failed.includes(seed))
            .map((seed) => ({ id: `${name} ${seed}`, task: { seed, split: 'train' }, success: passes(seed) })),
        ),
        ...{ episodes: tasks, successes: 0, failures: tasks },
        ...{ promptTokens: 0, completionTokens: 0, seconds: 0 },
      },
    });
    const record = (seed: number) => ({
      ...{ seed, capabilityId: routing(seed) },
      ...{ probabilities: [1], coveredMass: null },
    });
    const identification = identificationOf(contrasts);
    const input = {
      context,
      plan: planned.plan,
      version: planned.measure!.version,
      base: await arm('night-base', base, played.failed?.base),
      served: await arm('night-served', served, played.failed?.served),
      identified: {
        identification: await putJson(store, layout.capabilities(runId), 'identification.json', identification),
        labels: await putLines(store, layout.capabilities(runId), 'labels.jsonl', [
          ...Object.entries(lacking).flatMap(([capabilityId, most]) =>
            seeds.map((seed) => ({
              ...{ trajectoryId: `night-served ${seed}`, capabilityId, label: seed < most ? 'LACKING' : 'NA' },
              ...{ step: null, reason: '', votes: { NA: 0, PRESENT: 0, LACKING: 1 } },
            })),
          ),
          // Of live traffic.
          ...Object.keys(lacking).map((capabilityId) => ({
            ...{ trajectoryId: 'a conversation', capabilityId, label: 'LACKING' },
            ...{ step: null, reason: '', votes: { NA: 0, PRESENT: 0, LACKING: 1 } },
          })),
        ]),
        kept: [],
        candidates: contrasts.length,
        ...(earlier !== undefined && { earlier }),
        tokens: [],
      },
      ...(live !== undefined && { live }),
      routing: await putLines(store, layout.evaluation(runId), 'night-routing.jsonl', seeds.map(record)),
    };
    const result = await this.run(decideNight.bind(null, store), input);
    expect(await this.run(decideNight.bind(null, store), input)).toEqual(result);
    return { result, decision: await getJson(store, result.decision, nightDecisionSchema) };
  }
}

const runOf = (gap: number, coverage: number, failureLacking: number) => ({
  ...{ run: 0, errorRateSuccess: 0, errorRateFailure: gap, gap, coverage, pValue: 0.1, passed: true },
  counts: {
    ...{ successLacking: 0, successApplicable: 20, failureLacking, failureApplicable: failureLacking },
    ...{ failures: 20, unlabelled: 0 },
  },
});

function identificationOf(contrasts: readonly FoundContrast[]) {
  const none = { errorRateSuccess: null, errorRateFailure: null };
  return {
    candidates: [],
    merges: [],
    contrasts: contrasts.map(({ gap = 0.5, coverage = 0.3, lacking = 10, goesWith = null, ...contrast }) => ({
      ...contrast,
      ...none,
      ...{ gap, coverage },
      standardDeviation: { ...none, gap: null, coverage: null },
      intervals: { ...none, gap: null, coverage: null },
      ...{ runs: [runOf(gap, coverage, lacking)], runsPassed: 1, adjustedPValue: 0.01, agreement: null },
      partial: { effect: null, adjustedPValue: 1, goesWith, moreEpisodes: null, hardlyShown: null },
      ...{ missed: [], moreFailures: null, kept: contrast.verdict === 'kept', reason: 'x' },
    })),
    ...{ kept: [], arm: 'contrast', gone: [], evidence: [] },
    thresholds: { minGap: 0.2, minCoverage: 0.1 },
    rule: { runs: 1, quorum: 1, familywiseError: 0.05 },
    calls: { discovery: 1, label: 12, reused: 0, unlabelled: 0, saved: 0 },
    usage: { promptTokens: 20, completionTokens: 10, cachedTokens: 0 },
    analyst: 'none',
  };
}
