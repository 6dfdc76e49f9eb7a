/**
 * Decides two things: whether conversations switch adapters when a later message needs another one, and whether they
 * begin with the first request when their opening needs two. Switching is compared with staying on the train tasks
 * where it makes a difference, and adopted if it gains (docs/adr/0018).
 */
import type { LaterMessages, RouterChoice } from '../../../../contracts/artifacts/router-choice';
import { NONE_LABEL } from '../../../../contracts/names';
import { fitNeeds } from '../../../../routing/fit/fit-needs';
import { firstOfTwoReader } from '../../../../routing/first-of-two';
import type { ChoosingRouter } from '../../../../routing/kinds';
import type { LabelledTasks } from '../../../../routing/labelled-tasks';
import { laterTexts, laterTurnsReader } from '../../../../routing/later-turns';
import type { LaterTurnsModel } from '../../../../routing/router-parts';
import { mean, meanOrZero } from '../../../statistics/mean';
import { harms, leftOutOf } from '../adapter-set';
import { LEAST_TASKS, standardErrorOf } from '../compare-decisions';
import { readCrossFitted } from '../cross-fit';
import { type ArmOnTask, FOLLOWED } from '../known-outcomes';
import { ARM_TRIALS } from '../play-arms';
import { type CrossFittedSwitches, type Round, type Setting, type State, type Switching, withSpending } from '../state';

/** A switch interrupts the style of a conversation, so a message must need it clearly. */
const LEAST_PROBABILITY = 0.7;

/** The opening's needs are read as by a router: each capability with a probability above one half. */
const TWO_NEEDS = { threshold: 0.5 };

/** The report's row for this comparison. */
type Comparison = NonNullable<RouterChoice['laterTurns']>;
/** The row without the cost. */
type Verdict = Omit<Comparison, 'rollouts' | 'reads'>;

/** The tasks and names from which such a model learns. */
type Learned = Pick<Setting, 'labelled' | 'ids' | 'ridge'>;

/**
 * Fits the model that reads needs from later messages. The model for user messages is fitted on whole conversations,
 * because a label does not say which message needs the capability. The model for tool results is fitted only on
 * openings, because it would learn the format of the results.
 */
async function fitLater(
  { ids, ridge }: Learned,
  { tasks, live }: Pick<LabelledTasks, 'tasks' | 'live'>,
  reads: LaterMessages,
): Promise<LaterTurnsModel> {
  const texts = [...tasks, ...live].map((task) => ({
    ...task,
    opening: reads === 'user' ? [task.opening, ...laterTexts(task.later, reads)].join('\n') : task.opening,
  }));
  return { reads, ...(await fitNeeds(texts, ids, ridge)), threshold: LEAST_PROBABILITY };
}

/** The switches of every task, by models that were fitted without it. Null if too few tasks would switch. */
export async function crossFitSwitches(
  setting: Learned & Pick<Setting, 'seed'>,
  reads: LaterMessages,
): Promise<CrossFittedSwitches | null> {
  const { tasks, live } = setting.labelled;
  if (tasks.filter((task) => laterTexts(task.later, reads).length > 0).length < LEAST_TASKS) return null;
  const switches = await readCrossFitted(
    setting,
    async (seen) => {
      const model = await fitLater(setting, { tasks: seen, live }, reads);
      return { reader: laterTurnsReader(model), firstOfTwo: firstOfTwoReader({ ...model, twoNeeds: TWO_NEEDS }) };
    },
    ({ reader, firstOfTwo }, { opening, later }) => ({
      reader,
      to: reader(later, NONE_LABEL)?.capabilityId ?? null,
      first: firstOfTwo(opening)?.capabilityId ?? null,
    }),
  );
  return switches.filter(({ to }) => to !== null).length < LEAST_TASKS ? null : { reads, tasks: switches };
}

/** The router with the model of later messages, but without switches to capabilities that lose by them. */
export async function withLaterMessages(
  setting: Learned,
  router: ChoosingRouter,
  { reads, leftOut, twoNeeds }: Comparison,
): Promise<ChoosingRouter> {
  const learned = await fitLater(setting, setting.labelled, reads);
  const needs = learned.needs.filter(({ capabilityId }) => !leftOut.includes(capabilityId));
  return { ...router, laterTurns: { ...learned, needs, ...(twoNeeds?.adopted && { twoNeeds: TWO_NEEDS }) } };
}

/**
 * Tries the ways of reading later messages in turn, and adopts the first with which switching gains. With a single arm
 * no switch is possible.
 */
export const laterMessagesRound: Round = async (setting, begun) => {
  const { decisions } = begun.served;
  if (decisions.kind === 'base' || decisions.kind === 'mixed') return begun;
  let state = begun;
  for (const switches of setting.switches) {
    const spent: number = state.served.switches?.rollouts ?? 0;
    const tried = await compareSwitching(setting, state, switches, setting.budget.switches - spent);
    if (tried === null) continue;
    const comparison = { ...tried.comparison, rollouts: spent + tried.comparison.rollouts };
    state = { ...state, known: tried.known, served: { ...state.served, switches: comparison } };
    if (!comparison.adopted) continue;
    state = { ...state, followed: tried.reached, served: { ...state.served, decisions: followedBy(state) } };
    break;
  }
  return withSpending(setting, state, 'later-turns', state.served.decisions);
};

/** Uses the outcome after the switch if it was played. Other tasks keep the first choice. */
function followedBy({ known, served: { decisions } }: State): State['served']['decisions'] {
  const { kind, chosen } = decisions;
  return { kind, chosen: chosen.map((arm, task) => (known.rate(task, FOLLOWED) === null ? arm : FOLLOWED)) };
}

/**
 * Plays the train tasks on which a switch, or a start with the first request, differs from the router's choice. The
 * outcomes of an adopted way are stored under FOLLOWED, for the first `reached` tasks in the random order. Null if too
 * few tasks differ.
 * @param budget largest number of rollouts to buy.
 */
async function compareSwitching(
  { order, play }: Setting,
  { known, adapters, served: { decisions } }: State,
  { reads, tasks }: CrossFittedSwitches,
  budget: number,
): Promise<{ comparison: Comparison; reached: number; known: State['known'] } | null> {
  const leftOut = leftOutOf(adapters.get(decisions.kind)!);
  const missing: ArmOnTask[] = [];
  const conversations: Switching[] = [];
  const compared: { task: number; stays: string }[] = [];
  let reached = 0;
  for (const task of order) {
    const seed = known.seedOf(task);
    const stays = decisions.chosen[task]!;
    const { reader, to, first } = tasks[task]!;
    const differs = (other: string | null): other is string =>
      other !== null && other !== stays && !leftOut.includes(other);
    const ways: Switching[] = [];
    if (differs(to)) ways.push({ way: 'switch', seed, opening: stays, to, reader });
    if (differs(first)) ways.push({ way: 'first', seed, opening: first, to: first, reader });
    if (ways.length > 0) {
      const unknown = known.wasPlayed(task, stays) ? [] : [{ seed, arm: stays }];
      const wanted = missing.length + conversations.length + unknown.length + ways.length;
      if (wanted * ARM_TRIALS > budget) break;
      missing.push(...unknown);
      conversations.push(...ways);
      compared.push({ task, stays });
    }
    reached += 1;
  }
  if (compared.length < LEAST_TASKS) return null;
  const bought = known.with(await play.arms(missing));
  const outcomes = await play.switches(reads, conversations);
  const played = conversations.map((one, place) => ({ ...one, passes: outcomes[place]! }));
  const verdict = judgeFollowing(
    compared.flatMap(({ task, stays }) => {
      const own = played.filter(({ seed }) => seed === known.seedOf(task));
      const rate = bought.rate(task, stays);
      // All trials of a way, or of staying, failed: the ways of this task cannot be compared.
      if (rate === null || own.some(({ passes }) => passes.length === 0)) return [];
      const gainOf = (way: Switching['way']) => {
        const found = own.find((one) => one.way === way);
        return found ? { to: found.to, gain: mean(found.passes) - rate } : null;
      };
      return { switched: gainOf('switch'), first: gainOf('first') };
    }),
  );
  const served = (verdict.adopted ? followed(played, verdict) : []).flatMap(({ seed, passes }) =>
    passes.map((passed) => ({ seed, arm: FOLLOWED, passed: passed === 1 })),
  );
  const rollouts = (missing.length + conversations.length) * ARM_TRIALS;
  return { comparison: { reads, ...verdict, rollouts }, reached, known: bought.with(served) };
}

/** Selects for each task the way in which it would be served. */
function followed<S extends Switching>(played: readonly S[], { leftOut, twoNeeds }: Verdict): S[] {
  const left = played.filter(({ to, way }) => !leftOut.includes(to) && (way === 'switch' || twoNeeds?.adopted));
  const firsts = new Set(left.flatMap(({ way, seed }) => (way === 'first' ? [seed] : [])));
  return left.filter(({ way, seed }) => way === 'first' || !firsts.has(seed));
}

/** The gain of one way of following a conversation on a task, compared with keeping the router's choice. */
interface Gain {
  /** The capability whose adapter the conversation switches to, or begins with. */
  to: string;
  gain: number;
}

/**
 * A task on which one of two ways differs from the router's choice: only a switch, or the first request and then a
 * switch.
 */
interface ComparedTask {
  /** Null if no later message needs another adapter than the router's choice. */
  switched: Gain | null;
  /** Null if the opening does not have two needs, or if the router already chooses the first one. */
  first: Gain | null;
}

/**
 * Adopts switching if it gains. In that case conversations also begin with the first request, unless that loses tasks.
 * Beginning with the first request is never adopted alone, because few train tasks have two needs.
 */
export function judgeFollowing(tasks: readonly ComparedTask[]): Verdict {
  const alone = judgeSwitches(tasks.flatMap(({ switched }) => switched ?? []));
  const ordered = tasks.flatMap(({ switched, first }) => (first ? [first.gain - (switched?.gain ?? 0)] : []));
  if (ordered.length === 0) return alone;
  const withFirst = judgeSwitches(tasks.flatMap(({ switched, first }) => first ?? switched ?? []));
  const gain = mean(ordered);
  const adopted = withFirst.adopted && gain >= 0;
  return { ...(adopted ? withFirst : alone), twoNeeds: { tasks: ordered.length, gain, adopted } };
}

/** Adopts switching if it gains more than one standard error, without the capabilities that lose by it. */
export function judgeSwitches(gains: readonly Gain[]): Omit<Verdict, 'twoNeeds'> {
  const gainsTo = (id: string) => gains.flatMap(({ to, gain }) => (to === id ? [gain] : []));
  const leftOut = [...new Set(gains.map(({ to }) => to))].sort().filter((id) => harms(gainsTo(id)));
  const left = gains.filter(({ to }) => !leftOut.includes(to)).map(({ gain }) => gain);
  const [gain, standardError] = [meanOrZero(left), standardErrorOf(left)];
  const adopted = left.length >= LEAST_TASKS && gain > standardError;
  return { tasks: left.length, gain, standardError, leftOut, adopted };
}
