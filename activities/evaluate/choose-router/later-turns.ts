/**
 * Whether conversations move to another adapter when a later message calls for it, and begin with what is asked for
 * first when their opening calls for two things. That is compared with staying, on the train tasks where it changes
 * something, and adopted where it gains (docs/adr/0018, docs/adr/0019).
 */
import { createHash } from 'node:crypto';
import type {
  CompetitionRouter,
  LaterMessages,
  LaterTurnsModel,
  RouterChoice,
} from '../../../contracts/artifacts/router';
import type { ArmChoice } from '../../../contracts/routing/choose-arm';
import { openFirstOfTwo } from '../../../contracts/routing/first-of-two';
import { laterTexts, type LaterTurnsReader, openLaterTurns } from '../../../contracts/routing/later-turns';
import { NONE_LABEL } from '../../../contracts/names';
import { layout } from '../../../store';
import { runDeployedRollouts, samplingSeed } from '../../rollout';
import type { RolloutDeps } from '../../rollout/rollout-deps';
import { servedAdapters } from '../../rollout/served-adapter';
import { mean, meanOrZero } from '../../statistics/mean';
import { modelAfter } from '../model-after';
import { harms } from './adapter-set';
import { LEAST_TASKS, type MissingArm, standardErrorOf, taskOrder } from './competition';
import { drawFolds, fitLabels, FOLDS } from './fit-routers';
import { FOLLOWED, type KnownOutcomes } from './known-outcomes';
import { ARM_TRIALS, type ArmPlayers, playArms } from './play-arms';
import type { LabelledTasks } from './routing-task';

/** A move breaks with what the conversation began with, so a message has to call for it clearly. */
const LEAST_PROBABILITY = 0.7;

/** An opening is read by the same measure as a router reads it: it calls for what is more likely than not. */
const TWO_NEEDS = { threshold: 0.5 };

/** Share of the budget that is kept for this comparison, where there is something to compare. */
export const LATER_SHARE = 0.2;

/** What the report says of this comparison. */
type Comparison = NonNullable<RouterChoice['laterTurns']>;
/** What it says without the cost. */
type Verdict = Omit<Comparison, 'rollouts' | 'reads'>;

/** For each train task, how its later messages are read by a model that did not learn from it. */
export interface CrossFittedMoves {
  reads: LaterMessages;
  readers: readonly LaterTurnsReader[];
  /** Where base's conversation moves to; null where it stays. */
  moves: readonly (ArmChoice | null)[];
  /** What an opening with two needs asks for first; null for other openings. */
  firsts: readonly (string | null)[];
}

/** Learns what later messages call for. */
export class LaterTurnsFits {
  constructor(
    private readonly labelled: LabelledTasks,
    private readonly capabilityIds: readonly string[],
    private readonly ridge: number,
  ) {}

  /**
   * Learns what a later message calls for. For messages of the user it learns from whole conversations: a label says
   * that a conversation calls for a capability, and not at which turn. What tools return would teach it their output's
   * form, so there it learns from openings, and finds the words of a request among what is returned.
   */
  async fit(seen: LabelledTasks, reads: LaterMessages): Promise<LaterTurnsModel> {
    const texts = [...seen.tasks, ...seen.live].map((task) => ({
      ...task,
      opening: reads === 'user' ? [task.opening, ...laterTexts(task.later, reads)].join('\n') : task.opening,
    }));
    const { vocabulary, needs } = await fitLabels(texts, this.capabilityIds, this.ridge);
    return { reads, vocabulary, needs, threshold: LEAST_PROBABILITY };
  }

  /** Reads what was said later in every task without having learned from it. Null: too few tasks would move. */
  async crossFit(reads: LaterMessages, seed: number): Promise<CrossFittedMoves | null> {
    const { tasks, live } = this.labelled;
    if (tasks.filter((task) => laterTexts(task.later, reads).length > 0).length < LEAST_TASKS) return null;
    const folds = drawFolds(tasks.length, seed);
    const readers: LaterTurnsReader[] = [];
    const moves: (ArmChoice | null)[] = [];
    const firsts: (string | null)[] = [];
    for (let fold = 0; fold < FOLDS; fold++) {
      const seen = tasks.filter((_, place) => folds[place] !== fold);
      const laterTurns = { ...(await this.fit({ tasks: seen, live }, reads)), twoNeeds: TWO_NEEDS };
      const router: CompetitionRouter = { kind: 'labels', leftOut: [], ...laterTurns, laterTurns };
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

  /** The router with what later messages call for, without the capabilities that lose by a move. */
  async addTo(router: CompetitionRouter, { reads, leftOut, twoNeeds }: Comparison): Promise<CompetitionRouter> {
    if (router.kind === 'base' || router.kind === 'mixed') return router;
    const learned = await this.fit(this.labelled, reads);
    const needs = learned.needs.filter(({ capabilityId }) => !leftOut.includes(capabilityId));
    return { ...router, laterTurns: { ...learned, needs, ...(twoNeeds?.adopted && { twoNeeds: TWO_NEEDS }) } };
  }
}

/** What moving is compared with. */
export interface Staying {
  /** Arm of each task's opening. */
  chosen: readonly string[];
  /** Capabilities that the router gives nothing to. */
  leftOut: readonly string[];
  known: KnownOutcomes;
  /** Most rollouts to buy. */
  budget: number;
}

/**
 * Plays train tasks on which moving, or beginning with what is asked for first, is not staying. The outcomes of what is
 * adopted are noted under FOLLOWED, for the first `reached` tasks of the drawn order. Null: too few tasks differ.
 */
export async function compareMoving(
  deps: RolloutDeps,
  players: ArmPlayers,
  { tasks }: LabelledTasks,
  { reads, readers, moves, firsts }: CrossFittedMoves,
  { chosen, leftOut, known, budget }: Staying,
): Promise<{ verdict: Comparison; reached: number } | null> {
  const missing: MissingArm[] = [];
  const moving: Moving[] = [];
  const compared: { seed: number; stays: string }[] = [];
  let reached = 0;
  for (const place of taskOrder(tasks.length, players.context.seed)) {
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
  await playArms(deps, players, missing, known);
  const outcomes = await playMoving(deps, players, reads, moving);
  const outcomesOf = (played: Moving) => outcomes.get(nameOfPlayed(played)) ?? [];
  const judged = compared.map(({ seed, stays }): ComparedTask => {
    const gainOf = (wanted: Moving['way']) => {
      const found = moving.find((played) => played.seed === seed && played.way === wanted);
      return found ? { to: found.to, gain: mean(outcomesOf(found)) - (known.rate(seed, stays) ?? 0) } : null;
    };
    return { moves: gainOf('moves'), first: gainOf('first') };
  });
  const verdict = judgeFollowing(judged);
  for (const played of verdict.adopted ? followed(moving, verdict) : [])
    for (const passed of outcomesOf(played)) known.add(played.seed, FOLLOWED, passed === 1);
  const rollouts = (missing.length + moving.length) * ARM_TRIALS;
  return { verdict: { reads, ...verdict, rollouts }, reached };
}

/** Of the ways in which tasks were played, the one in which each would be served. */
function followed(moving: readonly Moving[], { leftOut, twoNeeds }: Verdict): Moving[] {
  const left = moving.filter(({ to, way }) => !leftOut.includes(to) && (way === 'moves' || twoNeeds?.adopted));
  const firsts = new Set(left.flatMap(({ way, seed }) => (way === 'first' ? [seed] : [])));
  return left.filter(({ way, seed }) => way === 'first' || !firsts.has(seed));
}

/** What one way of following a conversation gains on a task, against staying with the router's choice. */
interface Gain {
  /** Capability that the conversation moves to, or begins with. */
  to: string;
  gain: number;
}

/** A task on which one of two ways is not staying: moving, and beginning with what is asked for first and moving. */
interface ComparedTask {
  /** Null where no later message moves the conversation away from the router's choice. */
  moves: Gain | null;
  /** Null where the opening calls for no two needs, or the first one is the router's choice. */
  first: Gain | null;
}

/**
 * Adopts moving where it gains, and with it that conversations begin with what is asked for first, unless that loses
 * tasks. The order of two needs is not judged alone: few train tasks tell anything about it.
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

/** A train task that is played with its moves. */
interface Moving {
  /** `moves`: it begins with the router's choice. `first`: it begins with what is asked for first. */
  way: 'moves' | 'first';
  seed: number;
  opening: string;
  /** Where the conversation goes that does not go where it would stay. */
  to: string;
  reader: LaterTurnsReader;
}

const nameOfPlayed = ({ seed, way }: Pick<Moving, 'seed' | 'way'>): string => `${seed} ${way}`;

/** Passes (1) and failures (0) of each task, in each way in which it is played. */
async function playMoving(
  deps: RolloutDeps,
  { context: { runId, seed: runSeed }, prepared, adapters }: ArmPlayers,
  reads: LaterMessages,
  moving: readonly Moving[],
): Promise<Map<string, number[]>> {
  const { model, evaluation } = prepared.spec;
  const nameOf = new Map(adapters.map(({ capabilityId, name }) => [capabilityId, name]));
  const plans = moving.flatMap(({ way, seed, opening, reader }) => {
    const first = opening === NONE_LABEL ? model.name : nameOf.get(opening)!;
    return Array.from({ length: ARM_TRIALS }, (_, trial) => ({
      seed,
      split: 'train' as const,
      // A set of rollouts tells its episodes apart by task and trial.
      trial: way === 'moves' ? trial : ARM_TRIALS + trial,
      model: first,
      samplingSeed: samplingSeed(runSeed, seed, trial),
      modelAfter: modelAfter(reader, adapters, first),
    }));
  });
  const destinations = moving.map(({ to }) => nameOf.get(to));
  const inputs = createHash('sha256')
    .update(JSON.stringify([reads, plans, destinations]))
    .digest('hex')
    .slice(0, 12);
  const { trajectories } = await runDeployedRollouts(deps, prepared, {
    plans,
    adapters: await servedAdapters(deps.store, adapters),
    concurrency: evaluation.concurrency,
    workKey: layout.work(runId, `later-turns-${inputs}`),
    stage: 'evaluate',
    note: 'comparing moves at later turns',
  });
  const passes = new Map<string, number[]>();
  for await (const { task, trial, success } of trajectories()) {
    const name = nameOfPlayed({ seed: task.seed, way: trial < ARM_TRIALS ? 'moves' : 'first' });
    passes.set(name, [...(passes.get(name) ?? []), success ? 1 : 0]);
  }
  return passes;
}
