/**
 * Decides whether conversations follow the needs that the results of tools show. Some agents' openings tell nothing:
 * what a task needs shows only when the agent looks. Following is compared with keeping the adapter on the train tasks
 * where it makes a difference, and adopted if it gains.
 */
import type { RouterChoice } from '../../../../contracts/artifacts/router-choice';
import { chooseRidge } from '../../../../routing/fit/fit-needs';
import { fitToolNeeds } from '../../../../routing/fit/fit-tool-needs';
import type { LabelledSteps } from '../../../../routing/labelled-tasks';
import type { ReadMessage } from '../../../../routing/opening-text';
import type { ToolNeedsModel } from '../../../../routing/router-parts';
import { resultText, toolNeedsReader } from '../../../../routing/tool-needs';
import { mean } from '../../../statistics/mean';
import { leftOutOf } from '../adapter-set';
import { type Decisions, LEAST_TASKS } from '../compare-decisions';
import { readCrossFitted } from '../cross-fit';
import { type ArmOnTask, FOLLOWED_TOOLS } from '../known-outcomes';
import { ARM_TRIALS } from '../play-arms';
import {
  adaptersOf,
  type FollowedNeeds,
  type Round,
  type Setting,
  type State,
  type Switching,
  withSpending,
} from '../state';
import { judgeSwitches } from './later-messages';

type ToolNeedsReader = ReturnType<typeof toolNeedsReader>;
type Learned = Pick<Setting, 'labelled' | 'ids' | 'seed'>;

/** The needs that tools show in each task, read by models that were fitted without it. Null if few tasks show any. */
export async function crossFitToolNeeds(setting: Learned): Promise<FollowedNeeds | null> {
  const { episodes, tasks } = setting.labelled;
  const ridge = await chooseRidge(episodes.map(asOpening), setting.ids, setting.seed);
  const models = await readCrossFitted(
    setting,
    async (seen) => {
      const seeds = new Set(seen.map(({ seed }) => seed));
      const own = episodes.filter(({ seed }) => seed === null || seeds.has(seed));
      return fitToolNeeds(own, setting.ids, ridge);
    },
    (model) => model,
  );
  const readerOf = readersWithout([]);
  const showing = tasks.filter(({ later }, task) => armsOn(later, readerOf(models[task]!)).length > 0);
  return showing.length < LEAST_TASKS ? null : { ridge, models };
}

/** Opens models without these capabilities, each model once: a need that no adapter serves must not hide another. */
function readersWithout(leftOut: readonly string[]): (model: ToolNeedsModel) => ToolNeedsReader {
  const readers = new Map<ToolNeedsModel, ToolNeedsReader>();
  return (model) => {
    const reader = readers.get(model) ?? toolNeedsReader(withoutNeeds(model, leftOut));
    readers.set(model, reader);
    return reader;
  };
}

const withoutNeeds = (model: ToolNeedsModel, leftOut: readonly string[]): ToolNeedsModel => ({
  ...model,
  needs: model.needs.filter(({ capabilityId }) => !leftOut.includes(capabilityId)),
});

/** An episode's results of tools, in the place of an opening, with the needs of its labels. */
const asOpening = ({ later, labels }: LabelledSteps) => ({
  opening: later.flatMap((message) => (message.role === 'tool' ? [resultText(message)] : [])).join('\n'),
  needs: Object.keys(labels).filter((id) => labels[id] !== 'NA'),
  later,
});

/**
 * The arms that answer in this conversation by the needs of its tools, in order; without its first arm. Answers are
 * calls or texts.
 */
function armsOn(later: readonly ReadMessage[], reader: ToolNeedsReader): string[] {
  const places = later.flatMap(({ role }, place) => (role === 'assistant' ? [place] : []));
  return [...new Set(places.flatMap((place) => reader(later.slice(0, place))?.capabilityId ?? []))];
}

/** The model for the served router: fitted on all tasks, without capabilities that lose by it. */
export async function toolNeedsOf(
  { labelled, ids }: Learned,
  { ridge }: FollowedNeeds,
  { leftOut }: NonNullable<RouterChoice['toolResults']>,
): Promise<ToolNeedsModel> {
  return withoutNeeds(await fitToolNeeds(labelled.episodes, ids, ridge), leftOut);
}

/** The decisions of the router that would be served. */
const winnerOf = ({ pinned }: Setting, { final, served }: State): Decisions =>
  final === null || (pinned !== null && pinned !== 'outcomes-mixed')
    ? served.decisions
    : pinned === null
      ? final.winner
      : final.learned;

/** Compares the winner with the same router whose conversations follow what tools show. */
export const toolResultsRound: Round = async (setting, state) => {
  const { toolNeeds } = setting;
  const winner = winnerOf(setting, state);
  // A router that follows the user's messages keeps to them. The mixed adapter alone does not follow them.
  const followsMessages = state.served.switches?.adopted && winner.kind !== 'mixed';
  if (toolNeeds === null || winner.kind === 'base' || followsMessages) return state;
  const leftOut = leftOutOf(adaptersOf(setting, state, winner.kind));
  const spent = state.served.switches?.rollouts ?? 0;
  const { missing, conversations } = whereItDiffers(setting, state, winner, leftOut, setting.budget.switches - spent);
  if (conversations.length < LEAST_TASKS) return state;
  const bought = state.known.with(await setting.play.arms(missing));
  const outcomes = await setting.play.switches('tool-results', conversations);
  const staysAt = new Map(setting.order.map((task) => [state.known.seedOf(task), winner.chosen[task]!]));
  // A conversation is left out if all its trials failed, or all of those without the switch.
  const played = conversations
    .map((one, place) => ({ ...one, passes: outcomes[place]!, stays: bought.of(one.seed, staysAt.get(one.seed)!) }))
    .filter(({ passes, stays }) => passes.length > 0 && stays.length > 0);
  const verdict = judgeSwitches(played.map(({ to, passes, stays }) => ({ to, gain: mean(passes) - mean(stays) })));
  const kept = played.filter(({ to }) => !verdict.leftOut.includes(to));
  const known = bought.with(
    kept.flatMap(({ seed, passes }) => passes.map((passed) => ({ seed, arm: FOLLOWED_TOOLS, passed: passed === 1 }))),
  );
  const seeds = new Set(kept.map(({ seed }) => seed));
  const chosen = winner.chosen.map((arm, task) => (seeds.has(known.seedOf(task)) ? FOLLOWED_TOOLS : arm));
  const rollouts = (missing.length + conversations.length) * ARM_TRIALS;
  const decisions = verdict.adopted ? { kind: winner.kind, chosen } : winner;
  const tools = { comparison: { ...verdict, rollouts }, decisions };
  return withSpending(setting, { ...state, known, tools }, 'tool-results', decisions);
};

/** The conversations to play, and the arms without outcomes that they are compared with, within the budget. */
function whereItDiffers(
  { labelled, order, toolNeeds }: Setting,
  { known }: State,
  winner: Decisions,
  leftOut: readonly string[],
  budget: number,
): { missing: ArmOnTask[]; conversations: Switching[] } {
  const missing: ArmOnTask[] = [];
  const conversations: Switching[] = [];
  const readerOf = readersWithout(leftOut);
  for (const task of order) {
    const [seed, opening] = [known.seedOf(task), winner.chosen[task]!];
    const reader = readerOf(toolNeeds!.models[task]!);
    const to = armsOn(labelled.tasks[task]!.later, reader).find((arm) => arm !== opening);
    if (to === undefined) continue;
    const unknown = known.wasPlayed(task, opening) ? [] : [{ seed, arm: opening }];
    if ((missing.length + conversations.length + unknown.length + 1) * ARM_TRIALS > budget) break;
    missing.push(...unknown);
    conversations.push({ way: 'switch', seed, opening, to, reader });
  }
  return { missing, conversations };
}
