import { identificationSchema } from '../../contracts/artifacts/identification';
import {
  type NightDecision,
  nightDecisionSchema,
  nightPlanSchema,
  type NightReason,
} from '../../contracts/artifacts/night';
import { trajectorySchema } from '../../contracts/artifacts/trajectory';
import type { ArmRollouts } from '../../contracts/messages/evaluate-stage';
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
import { percent, pointsRangeWithUnit, pointsWithUnit } from '../html/format';
import { wilson } from '../statistics/intervals';
import { changeOf, detectableLoss, pairedGain } from './gain-interval';
import { playsEveryTask } from './night-tasks';
import { promotedRate } from './promoted-rate';
import { type NightEvidence, nightReasons, servedCapabilities, undecidedCapabilities } from './night-reasons';

/** Only whether it passed, since a trajectory is large. */
const outcomeSchema = trajectorySchema.pick({ task: true, success: true }).strip();

/**
 * Makes the activity `decideNight`: decides from the rollouts and the identification of the system as it serves whether
 * the night goes on. The decision is an artifact, and in the agent's nights, before the workflow hears of it. Executed
 * again, it reads the nights before its own and decides the same.
 */
export function createDecideNight(store: ArtifactStore): (input: DecideNightInput) => Promise<NightDecisionResult> {
  return async (input) => {
    const { context, version, identified } = input;
    const { runId, agent } = context;
    const { environment, collect } = (await readPreparedSpec(store, context.spec)).spec;
    const hasOthers = !playsEveryTask(environment.trainSeeds, collect.trials);
    const plan = await getJson(store, input.plan, nightPlanSchema);
    const identification = await getJson(store, identified.identification, identificationSchema);
    const passed = { base: await passes(store, input.base), served: await passes(store, input.served) };
    const { paired, rates } = pair(passed.base, passed.served);
    const gain = pairedGain(paired);
    const registered = (await readRegistry(store, agent)).versions.find((one) => one.version === version.version);
    const promotedWith = registered?.routedMinusBase ?? gain;
    const change = changeOf(gain, promotedWith);
    const rateThen = await promotedRate(store, version.runId, promotedWith);
    const rateNow = { estimate: rates.served, ...wilson(rates.served, Math.max(1, paired.tasks)) };
    const rateChange = rateThen && changeOf(rateNow, rateThen);
    const evidence: NightEvidence = {
      version: {
        version: version.version,
        runId: version.runId,
        capabilityIds: version.adapters.map(({ capabilityId }) => capabilityId),
      },
      identification,
      change,
      rateChange,
      content: plan.content,
      nights: [],
      verdictsOfItsRun: await verdictsOf(store, agent, version.runId),
    };
    let decision: NightDecision | null = null;
    await changeNights(store, agent, (document) => {
      const place = document.nights.findIndex((night) => night.runId === runId);
      const nights = place < 0 ? document.nights : document.nights.slice(0, place);
      const capabilities = servedCapabilities(evidence);
      const found = nightReasons({ ...evidence, nights }, capabilities);
      // What was decided stays decided, whatever an earlier night that is still under way has decided since.
      const own = document.nights[place];
      const { reasons, seenBefore } =
        own === undefined || own.outcome === null
          ? found
          : { reasons: own.reasons, seenBefore: without([...found.reasons, ...found.seenBefore], own.reasons) };
      const undecided = undecidedCapabilities({ ...evidence, nights }, capabilities);
      const outcome = reasons.length > 0 ? 'goes-on' : undecided.length > 0 ? 'too-little-power' : 'nothing-new';
      const facts: Omit<NightDecision, 'sentence'> = {
        night: plan.night,
        version: version.version,
        outcome,
        reasons,
        seenBefore,
        undecided,
        tasks: paired.tasks,
        ...rates,
        gain,
        promotedWith,
        change,
        rateChange,
        detectableLoss: Math.max(detectableLoss(change), rateChange ? detectableLoss(rateChange) : 0),
        capabilities,
        cost: {
          rollouts: input.base.rollouts.episodes + input.served.rollouts.episodes,
          labels: identification.calls.label,
          analystTokens: identification.usage.promptTokens + identification.usage.completionTokens,
        },
        identification: identified.identification,
      };
      decision = nightDecisionSchema.parse({ ...facts, sentence: sentenceOf(facts, hasOthers) });
      return {
        ...document,
        nights: document.nights.map((night) => (night.runId === runId ? { ...night, outcome, reasons } : night)),
      };
    });
    const { outcome, sentence } = decision as unknown as NightDecision;
    return { decision: await putJson(store, layout.night(runId), 'night-decision.json', decision), outcome, sentence };
  };
}

const without = (all: readonly NightReason[], some: readonly NightReason[]): NightReason[] =>
  all.filter((reason) => !some.some((one) => one.kind === reason.kind && one.capabilityId === reason.capabilityId));

async function passes(store: ArtifactStore, { rollouts }: ArmRollouts): Promise<Map<number, boolean>> {
  const outcomes = await getLines(store, rollouts.trajectories, outcomeSchema);
  return new Map(outcomes.map(({ task, success }) => [task.seed, success]));
}

function pair(base: ReadonlyMap<number, boolean>, served: ReadonlyMap<number, boolean>) {
  const seeds = [...base.keys()].filter((seed) => served.has(seed));
  const count = (wanted: (seed: number) => boolean | undefined) => seeds.filter((seed) => wanted(seed)).length;
  const share = (arm: ReadonlyMap<number, boolean>) => count((seed) => arm.get(seed)) / Math.max(1, seeds.length);
  return {
    paired: {
      tasks: seeds.length,
      gained: count((seed) => served.get(seed) && !base.get(seed)),
      lost: count((seed) => base.get(seed) && !served.get(seed)),
    },
    rates: { served: share(served), base: share(base) },
  };
}

/** What a run found about each capability, by the agent's dictionary. */
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

function sentenceOf(facts: Omit<NightDecision, 'sentence'>, hasOthers: boolean): string {
  const {
    night,
    version,
    outcome,
    reasons,
    tasks,
    served,
    base,
    gain,
    promotedWith,
    detectableLoss: loss,
    cost,
  } = facts;
  const measured =
    `Night ${night} measured version ${version} on ${tasks} train tasks: it passes ${percent(served)} and base ` +
    `${percent(base)}, a gain of ${pointsWithUnit(gain.estimate)} (${pointsRangeWithUnit(gain)}); it was promoted ` +
    `with ${pointsWithUnit(promotedWith.estimate)}.`;
  const seen = `A loss of ${(loss * 100).toFixed(0)} points or more would have been seen in four nights of five.`;
  const spent = `Measuring took ${cost.rollouts} rollouts and ${cost.labels} labels.`;
  const recurring = facts.capabilities.filter(({ state, inVersion }) => state === 'recurring' && inVersion);
  const known =
    recurring.length === 0
      ? ''
      : ` Still lacking, with an adapter that is served: ${recurring.map(({ id }) => id).join(', ')}.`;
  switch (outcome) {
    case 'goes-on':
      return `${measured} It goes on: ${reasons.map(reasonInWords).join('; ')}.${known} ${spent}`;
    case 'nothing-new':
      return `${measured} Nothing new is lacking.${known} ${seen} ${spent}`;
    case 'too-little-power':
      return (
        `${measured} May be lacking, but these tasks are too few to tell: ${facts.undecided.join(', ')}. ` +
        `${hasOthers ? 'Other tasks follow in the next night' : 'The next night plays the same tasks anew'}.` +
        `${known} ${seen} ${spent}`
      );
  }
}

function reasonInWords({ kind, capabilityId }: NightDecision['reasons'][number]): string {
  switch (kind) {
    case 'new':
      return `${capabilityId} is lacking and has no adapter`;
    case 'regressed':
      return `${capabilityId} is lacking although its adapter is served`;
    case 'lost-gain':
      return 'it passes fewer tasks than at its promotion';
  }
}
