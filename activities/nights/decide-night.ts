import type { ArtifactRef } from '../../contracts/artifacts/artifact-ref';
import { routingRecordSchema } from '../../contracts/artifacts/evaluation';
import { identificationSchema } from '../../contracts/artifacts/identification';
import {
  type AdapterTasks,
  type NightDecision,
  nightDecisionSchema,
  nightPlanSchema,
  type NightReason,
  type Nights,
  type LackCount,
} from '../../contracts/artifacts/night';
import type { DecideNightInput, NightDecisionResult } from '../../contracts/messages/night-stage';
import {
  type ArtifactStore,
  changeNights,
  getJson,
  getLines,
  layout,
  putJson,
  readDictionary,
  readRegistry,
} from '../../store';
import { readPreparedSpec } from '../prepared-spec';
import { adapterRecords } from '../reuse/adapter-records';
import { wilson } from '../statistics/intervals';
import { adapterGains, adapterTasks } from './adapter-gains';
import { driftsOf } from './drift';
import { changeOf, detectableLoss, pairedGain } from './gain-interval';
import { lackCounts } from './lack-counts';
import { nightSentence } from './night-sentence';
import { playsEveryTask } from './night-tasks';
import { pair, passes } from './paired-arms';
import { promotedRate } from './promoted-rate';
import { isRetirement, retiredBefore } from './retirements';
import {
  lackingAsServed,
  type NightEvidence,
  nightReasons,
  servedCapabilities,
  undecidedCapabilities,
} from './night-reasons';

/**
 * Activity: decides from the rollouts and the identification of the active version whether the
 * night continues. The decision is written as an artifact and into the agent's nights before the workflow receives it.
 * A repeated execution reads the earlier nights and decides the same.
 */
export async function decideNight(store: ArtifactStore, input: DecideNightInput): Promise<NightDecisionResult> {
  const { runId, agent } = input.context;
  const measured = await readMeasured(store, input);
  let decision: NightDecision | null = null;
  let gone: string[] = [];
  await changeNights(store, agent, (document) => {
    const decided = decide(measured, document, runId);
    decision = decided.decision;
    gone = decided.retiredBefore;
    return decided.document;
  });
  const { outcome, sentence, reasons } = decision as unknown as NightDecision;
  const continues = reasons.flatMap(({ capabilityId, adapter: sha256, kind }) =>
    capabilityId === null || sha256 === undefined || isRetirement({ kind }) ? [] : [{ capabilityId, sha256 }],
  );
  const retires = reasons.flatMap((reason) => (isRetirement(reason) ? (reason.capabilityId ?? []) : []));
  return {
    decision: await putJson(store, layout.night(runId), 'night-decision.json', decision),
    outcome,
    sentence,
    ...(continues.length > 0 && { continues }),
    ...(retires.length > 0 && { retires }),
    ...(gone.length > 0 && { retiredBefore: gone }),
  };
}

/** The part of a decision that depends on earlier nights. */
type Decided = Pick<
  NightDecision,
  'outcome' | 'sentence' | 'reasons' | 'seenBefore' | 'undecided' | 'capabilities' | 'drifts' | 'adapters'
>;

/** Facts that do not depend on earlier nights. */
interface Measured {
  evidence: Omit<NightEvidence, 'nights' | 'gains' | 'drifts'>;
  figures: Omit<NightDecision, keyof Decided>;
  /** Whether the next night plays other tasks. */
  hasOthers: boolean;
  /** Tonight's results of each adapter. */
  tasks: AdapterTasks[];
  /** Capabilities that were lacking tonight. */
  lack: LackCount[];
  /** The version's rollouts. */
  rollouts: ArtifactRef;
}

async function readMeasured(store: ArtifactStore, input: DecideNightInput): Promise<Measured> {
  const { context, version, identified } = input;
  const { environment, collect, training } = (await readPreparedSpec(store, context.spec)).spec;
  const plan = await getJson(store, input.plan, nightPlanSchema);
  const identification = await getJson(store, identified.identification, identificationSchema);
  const [base, served] = [await passes(store, input.base), await passes(store, input.served)];
  const { paired, rates } = pair(base, served);
  const adapters = new Map(version.adapters.map(({ capabilityId, sha256 }) => [capabilityId, sha256]));
  const routing = await getLines(store, input.routing, routingRecordSchema);
  const chosen = new Map(routing.map(({ seed, capabilityId }) => [seed, capabilityId]));
  const gain = pairedGain(paired);
  const { versions } = await readRegistry(store, context.agent);
  const promotedWith = versions.find((one) => one.version === version.version)?.routedMinusBase ?? gain;
  const change = changeOf(gain, promotedWith);
  const rateThen = await promotedRate(store, version.runId, promotedWith);
  const rateNow = { estimate: rates.served, ...wilson(rates.served, Math.max(1, paired.tasks)) };
  const rateChange = rateThen && changeOf(rateNow, rateThen);
  return {
    evidence: {
      version: {
        version: version.version,
        runId: version.runId,
        capabilityIds: version.adapters.map(({ capabilityId }) => capabilityId),
        adapters,
      },
      made: new Map(versions.map((one) => [one.runId, one.adapters.map(({ capabilityId }) => capabilityId)])),
      keepable: new Set((await adapterRecords(store, context.agent)).keys()),
      trainsOn: training.warmStart,
      identification,
      change,
      rateChange,
      content: plan.content,
      verdictsOfItsRun: await verdictsOf(store, context.agent, version.runId),
    },
    figures: {
      night: plan.night,
      version: version.version,
      tasks: paired.tasks,
      ...(input.live !== undefined && { live: input.live }),
      ...(identified.earlier !== undefined && { earlier: identified.earlier }),
      ...failedOf(input),
      ...rates,
      gain,
      promotedWith,
      change,
      rateChange,
      detectableLoss: Math.max(detectableLoss(change), rateChange ? detectableLoss(rateChange) : 0),
      cost: {
        rollouts: input.base.rollouts.episodes + input.served.rollouts.episodes,
        labels: identification.calls.label,
        analystTokens: identification.usage.promptTokens + identification.usage.completionTokens,
      },
      identification: identified.identification,
    },
    hasOthers: !playsEveryTask(environment.trainSeeds, collect.trials),
    lack: await lackCounts(store, identified.labels, input.served),
    tasks: adapterTasks(base, served, chosen, adapters),
    rollouts: input.served.rollouts.trajectories,
  };
}

function failedOf({ base, served }: Pick<DecideNightInput, 'base' | 'served'>): Pick<NightDecision, 'failed'> {
  const [ofBase, ofServed] = [base.rollouts.failed, served.rollouts.failed];
  if (ofBase === undefined && ofServed === undefined) return {};
  return { failed: { ...(ofBase && { base: ofBase }), ...(ofServed && { served: ofServed }) } };
}

/** The decision, given the earlier nights, and the nights with this decision added. */
function decide(
  { evidence: measured, figures, hasOthers, tasks, lack, rollouts }: Measured,
  document: Nights,
  runId: string,
): { decision: NightDecision; document: Nights; retiredBefore: string[] } {
  const place = document.nights.findIndex((night) => night.runId === runId);
  const nights = place < 0 ? document.nights : document.nights.slice(0, place);
  const gains = adapterGains(tasks, { version: figures.version, content: measured.content, nights });
  const drifts = driftsOf(lack, { version: figures.version, content: measured.content, nights });
  const evidence: NightEvidence = { ...measured, nights, gains, drifts };
  const capabilities = servedCapabilities(evidence);
  const found = nightReasons(evidence, capabilities);
  // A decision is final, even if an earlier night that is still running has decided since.
  const own = document.nights[place];
  const { reasons, seenBefore } =
    own === undefined || own.outcome === null
      ? found
      : { reasons: own.reasons, seenBefore: without([...found.reasons, ...found.seenBefore], own.reasons) };
  const undecided = undecidedCapabilities(evidence, capabilities);
  const outcome = reasons.length > 0 ? 'goes-on' : undecided.length > 0 ? 'too-little-power' : 'nothing-new';
  const facts: Omit<NightDecision, 'sentence'> = {
    ...figures,
    outcome,
    reasons,
    seenBefore,
    undecided,
    capabilities,
    adapters: gains,
    ...(drifts.length > 0 && { drifts }),
  };
  const drifting = capabilities.flatMap(({ id, state }) => (state === 'drifting' ? [id] : []));
  const lacking = lackingAsServed(evidence, capabilities);
  return {
    retiredBefore: retiredBefore(evidence),
    decision: nightDecisionSchema.parse({ ...facts, sentence: nightSentence(facts, hasOthers) }),
    document: {
      ...document,
      nights: withoutOldCounts(
        document.nights.map((night) =>
          night.runId === runId
            ? {
                ...night,
                // The version that was measured, even if another one has become active since the plan.
                version: figures.version,
                outcome,
                reasons,
                lacking,
                lack,
                served: rollouts,
                adapters: tasks,
                ...(drifting.length > 0 && { drifting }),
              }
            : night,
        ),
      ),
    },
  };
}

/**
 * The latest nights whose counts are kept: more than are tested for a trend, identified with again, and than a gain is
 * pooled over.
 */
const [KEPT_LACKS, KEPT_TASKS] = [16, 64];

/** The nights, without the counts that are too old to be used, so that the document stays small. */
const withoutOldCounts = (nights: Nights['nights']): Nights['nights'] =>
  nights.map((night, place) => ({
    ...night,
    lack: place < nights.length - KEPT_LACKS ? undefined : night.lack,
    served: place < nights.length - KEPT_LACKS ? undefined : night.served,
    adapters: place < nights.length - KEPT_TASKS ? undefined : night.adapters,
  }));

const without = (all: readonly NightReason[], some: readonly NightReason[]): NightReason[] =>
  all.filter((reason) => !some.some((one) => one.kind === reason.kind && one.capabilityId === reason.capabilityId));

/** A run's findings about each capability, from the agent's dictionary. */
async function verdictsOf(
  store: ArtifactStore,
  agent: string,
  runId: string,
): Promise<NightEvidence['verdictsOfItsRun']> {
  const { entries } = await readDictionary(store, agent);
  return new Map(
    entries.flatMap(({ id, history }) => {
      const event = history.findLast((one) => one.runId === runId);
      return event === undefined ? [] : [[id, event.verdict] as const];
    }),
  );
}
