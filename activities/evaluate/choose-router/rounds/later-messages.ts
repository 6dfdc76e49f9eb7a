/**
 * Whether conversations change their adapter when a later message calls for another one, and begin with the first
 * request when their opening calls for two. That is compared with staying, on the train tasks where it changes
 * something, and adopted where it gains (docs/adr/0018).
 */
import type { LaterMessages, RouterChoice } from '../../../../contracts/artifacts/router-choice';
import { drawFolds, fitNeeds, FOLDS } from '../../../../routing/fit/fit-needs';
import { openFirstOfTwo } from '../../../../routing/first-of-two';
import type { ArmChoice } from '../../../../routing/kind';
import { choosesArms, type Router } from '../../../../routing/kinds';
import type { LabelledTasks } from '../../../../routing/labelled-tasks';
import { laterTexts, type LaterTurnsReader, openLaterTurns } from '../../../../routing/later-turns';
import type { LaterTurnsModel } from '../../../../routing/router-parts';
import { mean, meanOrZero } from '../../../statistics/mean';
import { adaptersThrough, harms, leftOutOf } from '../adapter-set';
import { LEAST_TASKS, type MissingArm, standardErrorOf } from '../competition';
import { FOLLOWED } from '../known-outcomes';
import { ARM_TRIALS } from '../play-arms';
import { type CrossFittedMoves, type Moving, nameOfMoving } from '../moves';
import { type Buying, noted, type Round, type Setting, type State, wholeOf } from '../round';

/** A change of adapter breaks with the beginning of a conversation, so a message has to call for it clearly. */
const LEAST_PROBABILITY = 0.7;

/** An opening is read as a router reads it: it calls for what is more likely than not. */
const TWO_NEEDS = { threshold: 0.5 };

/** The report's row of this comparison. */
type Comparison = NonNullable<RouterChoice['laterTurns']>;
/** The row without the cost. */
type Verdict = Omit<Comparison, 'rollouts' | 'reads'>;

/** The tasks and names that such a model is learned from. */
type Learned = Pick<Setting, 'labelled' | 'ids' | 'ridge'>;

/**
 * Fits the model that reads needs from later messages. To read user messages, it is fitted on whole conversations,
 * because a label does not say which message calls for the capability. To read tool results, it is fitted on openings
 * alone, because results would teach it the form of their output.
 */
async function fitLater(
  { ids, ridge }: Learned,
  { tasks, live }: LabelledTasks,
  reads: LaterMessages,
): Promise<LaterTurnsModel> {
  const texts = [...tasks, ...live].map((task) => ({
    ...task,
    opening: reads === 'user' ? [task.opening, ...laterTexts(task.later, reads)].join('\n') : task.opening,
  }));
  return { reads, ...(await fitNeeds(texts, ids, ridge)), threshold: LEAST_PROBABILITY };
}

/** Reads the later messages of every task without having learned from it. Null: too few tasks would change. */
export async function crossFitMoves(
  setting: Learned & Pick<Setting, 'seed'>,
  reads: LaterMessages,
): Promise<CrossFittedMoves | null> {
  const { tasks, live } = setting.labelled;
  if (tasks.filter((task) => laterTexts(task.later, reads).length > 0).length < LEAST_TASKS) return null;
  const folds = drawFolds(tasks.length, setting.seed);
  const readers: LaterTurnsReader[] = [];
  const moves: (ArmChoice | null)[] = [];
  const firsts: (string | null)[] = [];
  for (let fold = 0; fold < FOLDS; fold++) {
    const seen = tasks.filter((_, place) => folds[place] !== fold);
    const laterTurns = { ...(await fitLater(setting, { tasks: seen, live }, reads)), twoNeeds: TWO_NEEDS };
    const { vocabulary, needs } = laterTurns;
    const router: Router = { kind: 'labels', leftOut: [], vocabulary, needs, laterTurns };
    const [reader, firstOfTwo] = [openLaterTurns(router)!, openFirstOfTwo(router)!];
    tasks.forEach(({ opening, later }, place) => {
      if (folds[place] !== fold) return;
      readers[place] = reader;
      moves[place] = reader(later);
      firsts[place] = firstOfTwo(opening)?.capabilityId ?? null;
    });
  }
  return moves.filter((move) => move !== null).length < LEAST_TASKS ? null : { reads, readers, moves, firsts };
}

/** The router with the model of later messages, without the capabilities that lose by a change. */
export async function withLaterMessages(
  setting: Learned,
  router: Router,
  { reads, leftOut, twoNeeds }: Comparison,
): Promise<Router> {
  if (!choosesArms(router)) return router;
  const learned = await fitLater(setting, setting.labelled, reads);
  const needs = learned.needs.filter(({ capabilityId }) => !leftOut.includes(capabilityId));
  return { ...router, laterTurns: { ...learned, needs, ...(twoNeeds?.adopted && { twoNeeds: TWO_NEEDS }) } };
}

/** The first way of reading later messages by which a change of adapter gains. One arm leaves nothing to change to. */
export const laterMessagesRound: Round = async function* (setting, begun) {
  const { decisions } = begun.served;
  if (decisions.kind === 'base' || decisions.kind === 'mixed') return begun;
  const whole = wholeOf(begun, decisions.kind);
  const adapters =
    begun.adapters.get(decisions.kind) ??
    adaptersThrough(whole, setting.ids, begun.comparedFirst, setting.seeds, begun.known);
  const staying = { chosen: decisions.chosen, leftOut: leftOutOf(adapters) };
  let state = begun;
  for (const moves of setting.moves) {
    const spent: number = state.served.laterTurns?.rollouts ?? 0;
    const tried = yield* compareMoving(setting, state, moves, { ...staying, budget: setting.budget.moves - spent });
    if (tried === null) continue;
    const laterTurns = { ...tried.verdict, rollouts: spent + tried.verdict.rollouts };
    state = { ...state, known: tried.known, served: { ...state.served, laterTurns } };
    if (!laterTurns.adopted) continue;
    state = { ...state, followed: tried.reached, served: { ...state.served, decisions: followedBy(setting, state) } };
    break;
  }
  return noted(setting, state, 'later-turns', state.served.decisions);
};

/** Uses the outcome after the change where it was played. Other tasks keep the first choice. */
function followedBy({ seeds }: Setting, { known, served: { decisions } }: State): State['served']['decisions'] {
  const { kind, chosen } = decisions;
  return { kind, chosen: chosen.map((arm, i) => (known.rate(seeds[i]!, FOLLOWED) === null ? arm : FOLLOWED)) };
}

/** The router that conversations stay with. */
interface Staying {
  /** Arm of each task's opening. */
  chosen: readonly string[];
  /** Capabilities that the router gives nothing to. */
  leftOut: readonly string[];
  /** Most rollouts to buy. */
  budget: number;
}

/**
 * Plays train tasks in which a change of adapter, or beginning with the first request, differs from staying. The
 * outcomes of an adopted way are noted under FOLLOWED, for the first `reached` tasks of the drawn order. Null: too few
 * tasks differ.
 */
async function* compareMoving(
  { labelled: { tasks }, order }: Setting,
  { known }: State,
  { reads, readers, moves, firsts }: CrossFittedMoves,
  { chosen, leftOut, budget }: Staying,
): Buying<{ verdict: Comparison; reached: number; known: State['known'] } | null> {
  const missing: MissingArm[] = [];
  const moving: Moving[] = [];
  const compared: { seed: number; stays: string }[] = [];
  let reached = 0;
  for (const place of order) {
    const { seed } = tasks[place]!;
    const [stays, reader] = [chosen[place]!, readers[place]!];
    const differs = (to: string | null | undefined): to is string => !!to && to !== stays && !leftOut.includes(to);
    const [to, first] = [moves[place]?.capabilityId, firsts[place]];
    const ways: Moving[] = [
      ...(differs(to) ? [{ way: 'moves' as const, seed, opening: stays, to, reader }] : []),
      ...(differs(first) ? [{ way: 'first' as const, seed, opening: first, to: first, reader }] : []),
    ];
    if (ways.length === 0) {
      reached += 1;
      continue;
    }
    const unknown = known.rate(seed, stays) === null ? [{ seed, capabilityId: stays }] : [];
    if ((missing.length + moving.length + unknown.length + ways.length) * ARM_TRIALS > budget) break;
    missing.push(...unknown);
    moving.push(...ways);
    compared.push({ seed, stays });
    reached += 1;
  }
  if (compared.length < LEAST_TASKS) return null;
  const played = yield { arms: missing, moves: { reads, conversations: moving } };
  const bought = known.with(played.outcomes);
  const outcomesOf = (one: Moving) => played.moves.get(nameOfMoving(one)) ?? [];
  const judged = compared.map(({ seed, stays }): ComparedTask => {
    const gainOf = (wanted: Moving['way']) => {
      const found = moving.find((one) => one.seed === seed && one.way === wanted);
      return found ? { to: found.to, gain: mean(outcomesOf(found)) - (bought.rate(seed, stays) ?? 0) } : null;
    };
    return { moves: gainOf('moves'), first: gainOf('first') };
  });
  const verdict = judgeFollowing(judged);
  const served = (verdict.adopted ? followed(moving, verdict) : []).flatMap((one) =>
    outcomesOf(one).map((passed) => ({ seed: one.seed, arm: FOLLOWED, passed: passed === 1 })),
  );
  const rollouts = (missing.length + moving.length) * ARM_TRIALS;
  return { verdict: { reads, ...verdict, rollouts }, reached, known: bought.with(served) };
}

/** Selects for each task the way of playing it in which it would be served. */
function followed(moving: readonly Moving[], { leftOut, twoNeeds }: Verdict): Moving[] {
  const left = moving.filter(({ to, way }) => !leftOut.includes(to) && (way === 'moves' || twoNeeds?.adopted));
  const firsts = new Set(left.flatMap(({ way, seed }) => (way === 'first' ? [seed] : [])));
  return left.filter(({ way, seed }) => way === 'first' || !firsts.has(seed));
}

/** What one way of following a conversation gains on a task, against staying with the router's choice. */
interface Gain {
  /** Capability that the conversation changes to, or begins with. */
  to: string;
  gain: number;
}

/** A task on which one of two ways differs from staying: a change alone, or the first request and then a change. */
interface ComparedTask {
  /** Null where no later message calls for another adapter than the router's choice. */
  moves: Gain | null;
  /** Null where the opening does not call for two needs, or the first one is the router's choice. */
  first: Gain | null;
}

/**
 * Adopts moving if it gains. With it, conversations also begin with the first request, unless that loses tasks.
 * Beginning with the first request is never adopted alone, because few train tasks have two needs.
 */
export function judgeFollowing(tasks: readonly ComparedTask[]): Verdict {
  const movesAlone = judgeMoves(tasks.flatMap(({ moves }) => moves ?? []));
  const ordered = tasks.flatMap(({ moves, first }) => (first ? [first.gain - (moves?.gain ?? 0)] : []));
  if (ordered.length === 0) return movesAlone;
  const withFirst = judgeMoves(tasks.flatMap(({ moves, first }) => first ?? moves ?? []));
  const gain = mean(ordered);
  const adopted = withFirst.adopted && gain >= 0;
  return { ...(adopted ? withFirst : movesAlone), twoNeeds: { tasks: ordered.length, gain, adopted } };
}

/** Adopts moving when it gains more than one standard error, without the capabilities that lose by it. */
export function judgeMoves(gains: readonly Gain[]): Omit<Verdict, 'twoNeeds'> {
  const leftOut = [...new Set(gains.map(({ to }) => to))].sort().filter((id) => {
    return harms(gains.filter(({ to }) => to === id).map(({ gain }) => gain));
  });
  const left = gains.filter(({ to }) => !leftOut.includes(to)).map(({ gain }) => gain);
  const [gain, standardError] = [meanOrZero(left), standardErrorOf(left)];
  const adopted = left.length >= LEAST_TASKS && gain > standardError;
  return { tasks: left.length, gain, standardError, leftOut, adopted };
}
