/** Compares what a night decided with what is true of the simulated world. */
import type { Evaluation } from '../../contracts/artifacts/evaluation';
import type { NightDecision } from '../../contracts/artifacts/night';
import type { RunOutcome } from '../../contracts/names';
import { capabilityOf, skillOf } from './stub-agent';
import { type Habit, SKILLS, type Skill, World } from './world';

/** What happened in one night. */
export interface NightRecord {
  day: number;
  verdict: RunOutcome;
  /** Null: the night did not measure. */
  decision: NightDecision | null;
  /** The last comparison; null: none. Truths are mean chances over the held-out tasks. */
  compared: { evaluation: Evaluation; candidate: number; rival: number; passed: boolean } | null;
  promotedVersion: number | null;
  /** Adapters that were served when it began. */
  served: readonly Habit[];
  /** Chance with which the served version passed a task on the day of its promotion; null: base is served. */
  promotedAt: number | null;
  seconds: number;
  spend: Spend;
}

/** What a night used. */
export interface Spend {
  rollouts: number;
  labels: number;
  environments: number;
  trainings: number;
}

/** Ways in which a decision is wrong; the header of `bench/nights.ts` defines them. */
type Wrong = 'false-promotion' | 'false-alarm' | 'missed' | 'kept-although-better';

/** How a night is judged. */
export interface Judgement {
  wrong: Wrong[];
  /** Skills that are lacking as served, by how much could be gained, where that is more than the night can miss. */
  open: Skill[];
  /** Of these, those that it did not take up because an earlier night had worked on them with the same content. */
  blocked: Skill[];
}

/** Chance that what is served passes a task, on average over a day's tasks. */
export function servedRate(world: World, served: readonly Habit[]): number {
  let [rate, plain] = [0, 1];
  for (const skill of SKILLS) {
    rate += world.share(skill) * servedMean(world, skill, served);
    plain -= world.share(skill);
  }
  return rate + plain * world.mean('plain', null);
}

/** Its router gives tasks to the adapter that is meant for them. */
const servedMean = (world: World, skill: Skill, served: readonly Habit[]): number =>
  world.mean(skill, served.find((habit) => habit.skill === skill && habit.learned) ?? null);

/** Below this a skill is lacking. */
const LACKING = 0.5;
/** What a sharpened skill passes, about. */
const REACHABLE = 0.9;
/** A loss that is none: how far two days differ by rounding. */
const NOTHING = 0.01;

/** An adapter that gains less on its own tasks does not help. */
const HELPFUL = 0.1;
/** Nights over which the gain of an adapter is pooled: only then is all that is looked at after the event. */
const POOLED = 8;

/** What the adapter that is served for a skill gains over base on its tasks; 0 where there is none. */
const gainOf = (world: World, skill: Skill, served: readonly Habit[]): number =>
  servedMean(world, skill, served) - world.mean(skill, null);

/** Whether an adapter does more harm than its interval is wide, for all nights that are pooled. */
const isHarmMissed = (world: World, served: readonly Habit[], { adapters = [], seenBefore }: NightDecision): boolean =>
  world.daysOfHarm >= POOLED &&
  adapters.some(({ capabilityId, gain }) => {
    const skill = skillOf(capabilityId);
    const isSeen = seenBefore.some((reason) => reason.kind === 'harms' && reason.capabilityId === capabilityId);
    return skill !== null && !isSeen && -gainOf(world, skill, served) > gain.high - gain.low;
  });

/** Judges a night by the world of its day. */
export function judgeNight(night: NightRecord): Judgement {
  const world = new World(night.day);
  const wrong: Wrong[] = [];
  const { compared, decision } = night;
  const retires = decision?.reasons.some(({ kind }) => kind === 'harms' || kind === 'no-longer-helps') === true;
  // A set without an adapter may be as good as what is served.
  const least = compared === null ? 0 : compared.rival - (retires ? NOTHING : 0);
  if (compared?.passed && compared.candidate <= least) wrong.push('false-promotion');
  const provable = compared?.evaluation.plan?.minimumDetectableGain ?? 1;
  if (compared && !compared.passed && compared.candidate - compared.rival > provable)
    wrong.push('kept-although-better');
  if (decision === null) return { wrong, open: [], blocked: [] };

  const isLacking = (skill: Skill) => world.share(skill) > 0 && servedMean(world, skill, night.served) < LACKING;
  const lost = (night.promotedAt ?? 0) - servedRate(world, night.served);
  const isTrue = ({ kind, capabilityId }: NightDecision['reasons'][number]) => {
    if (kind === 'lost-gain') return lost > NOTHING;
    const skill = skillOf(capabilityId ?? '');
    if (kind === 'harms' || kind === 'no-longer-helps')
      return skill === null || gainOf(world, skill, night.served) < (kind === 'harms' ? 0 : HELPFUL);
    return skill !== null && isLacking(skill);
  };
  if (decision.outcome === 'goes-on' && !decision.reasons.some(isTrue)) wrong.push('false-alarm');
  const open = SKILLS.filter(
    (skill) =>
      isLacking(skill) &&
      world.share(skill) * (REACHABLE - servedMean(world, skill, night.served)) > decision.detectableLoss,
  );
  const blocked = open.filter((skill) =>
    decision.seenBefore.some(({ capabilityId }) => capabilityId === capabilityOf(skill)),
  );
  const isOver = decision.outcome !== 'goes-on';
  const lossBlocked = decision.seenBefore.some(({ kind }) => kind === 'lost-gain');
  if (
    isOver &&
    (open.length > blocked.length ||
      isHarmMissed(world, night.served, decision) ||
      (lost > decision.detectableLoss && !lossBlocked))
  )
    wrong.push('missed');
  return { wrong, open, blocked };
}
