/**
 * Whether conversations move to another adapter when a later message calls for it. Moving is compared with staying, on
 * train tasks with such a message, and adopted where it gains (docs/adr/0018).
 */
import { createHash } from 'node:crypto';
import type {
  CompetitionRouter,
  LaterMessages,
  LaterTurnsModel,
  RouterChoice,
} from '../../../contracts/artifacts/router';
import type { ArmChoice } from '../../../contracts/routing/choose-arm';
import { laterTexts, type LaterTurnsReader, openLaterTurns } from '../../../contracts/routing/later-turns';
import { NONE_LABEL } from '../../../contracts/names';
import { layout } from '../../../store';
import { runDeployedRollouts, samplingSeed } from '../../rollout';
import type { RolloutDeps } from '../../rollout/rollout-deps';
import { servedAdapters } from '../../rollout/served-adapter';
import { mean } from '../../statistics/mean';
import { modelAfter } from '../model-after';
import { LEAST_TASKS, type MissingArm, taskOrder } from './competition';
import { drawFolds, fitLabels, FOLDS } from './fit-routers';
import type { KnownOutcomes } from './known-outcomes';
import { ARM_TRIALS, type ArmPlayers, playArms } from './play-arms';
import type { LabelledTasks } from './routing-task';

/** A move breaks with what the conversation began with, so a message has to call for it clearly. */
const LEAST_PROBABILITY = 0.7;

/** Share of the budget that is kept for this comparison, where there is something to compare. */
export const LATER_SHARE = 0.2;

/** For each train task, how its later messages are read by a model that did not learn from it. */
export interface CrossFittedMoves {
  reads: LaterMessages;
  /** Null for a task without later messages. */
  readers: readonly (LaterTurnsReader | null)[];
  /** Where base's conversation moves to; null where it stays. */
  moves: readonly (ArmChoice | null)[];
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
    const later = tasks.flatMap((task, place) => (laterTexts(task.later, reads).length > 0 ? [place] : []));
    if (later.length < LEAST_TASKS) return null;
    const folds = drawFolds(tasks.length, seed);
    const readers: (LaterTurnsReader | null)[] = tasks.map(() => null);
    for (let fold = 0; fold < FOLDS; fold++) {
      const seen = tasks.filter((_, place) => folds[place] !== fold);
      const laterTurns = await this.fit({ tasks: seen, live }, reads);
      const reader = openLaterTurns({ kind: 'labels', leftOut: [], ...laterTurns, laterTurns });
      for (const place of later) if (folds[place] === fold) readers[place] = reader;
    }
    const moves = tasks.map((task, place) => readers[place]?.(task.later) ?? null);
    return moves.filter((move) => move !== null).length < LEAST_TASKS ? null : { reads, readers, moves };
  }

  /** The router with what later messages call for, without the capabilities that lose by a move. */
  async addTo(
    router: CompetitionRouter,
    { reads, leftOut }: NonNullable<RouterChoice['laterTurns']>,
  ): Promise<CompetitionRouter> {
    if (router.kind === 'base' || router.kind === 'mixed') return router;
    const learned = await this.fit(this.labelled, reads);
    const needs = learned.needs.filter(({ capabilityId }) => !leftOut.includes(capabilityId));
    return { ...router, laterTurns: { ...learned, needs } };
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

/** Plays train tasks that would move, with and without moving. Null: too few would. */
export async function compareMoving(
  deps: RolloutDeps,
  players: ArmPlayers,
  { tasks }: LabelledTasks,
  { reads, readers, moves }: CrossFittedMoves,
  { chosen, leftOut, known, budget }: Staying,
): Promise<RouterChoice['laterTurns'] | null> {
  const missing: MissingArm[] = [];
  const moving: Moving[] = [];
  for (const place of taskOrder(tasks.length, players.context.seed)) {
    const { seed } = tasks[place]!;
    const [move, stays, reader] = [moves[place], chosen[place]!, readers[place]];
    if (!move || !reader || move.capabilityId === stays || leftOut.includes(move.capabilityId)) continue;
    const unknown = known.rate(seed, stays) === null ? [{ seed, capabilityId: stays }] : [];
    if ((missing.length + moving.length + unknown.length + 1) * ARM_TRIALS > budget) break;
    missing.push(...unknown);
    moving.push({ seed, opening: stays, to: move.capabilityId, reader });
  }
  if (moving.length < LEAST_TASKS) return null;
  await playArms(deps, players, missing, known);
  const rates = await playMoving(deps, players, reads, moving);
  const gains = moving.map(({ seed, opening, to }) => ({
    to,
    gain: (rates.get(seed) ?? 0) - (known.rate(seed, opening) ?? 0),
  }));
  return { reads, ...judgeMoves(gains), rollouts: (missing.length + moving.length) * ARM_TRIALS };
}

/** Adopts moving when it gains more than one standard error, without the capabilities that lose by it. */
export function judgeMoves(
  gains: readonly { to: string; gain: number }[],
): Omit<NonNullable<RouterChoice['laterTurns']>, 'rollouts' | 'reads'> {
  const leftOut = [...new Set(gains.map(({ to }) => to))].sort().filter((id) => {
    const own = gains.filter(({ to }) => to === id).map(({ gain }) => gain);
    return own.length >= LEAST_TASKS && mean(own) < 0;
  });
  const left = gains.filter(({ to }) => !leftOut.includes(to)).map(({ gain }) => gain);
  const gain = left.length === 0 ? 0 : mean(left);
  const variance = left.length < 2 ? 0 : left.reduce((sum, value) => sum + (value - gain) ** 2, 0) / (left.length - 1);
  const standardError = left.length === 0 ? 0 : Math.sqrt(variance / left.length);
  const adopted = left.length >= LEAST_TASKS && gain > standardError;
  return { tasks: left.length, gain, standardError, leftOut, adopted };
}

/** A train task that is played with its move. */
interface Moving {
  seed: number;
  opening: string;
  to: string;
  reader: LaterTurnsReader;
}

/** Pass rate of each task when its conversation may move. */
async function playMoving(
  deps: RolloutDeps,
  { context: { runId, seed: runSeed }, prepared, adapters }: ArmPlayers,
  reads: LaterMessages,
  moving: readonly Moving[],
): Promise<Map<number, number>> {
  const { model, evaluation } = prepared.spec;
  const nameOf = new Map(adapters.map(({ capabilityId, name }) => [capabilityId, name]));
  const plans = moving.flatMap(({ seed, opening, reader }) => {
    const first = opening === NONE_LABEL ? model.name : nameOf.get(opening)!;
    return Array.from({ length: ARM_TRIALS }, (_, trial) => ({
      seed,
      split: 'train' as const,
      trial,
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
  const passes = new Map<number, number[]>();
  for await (const { task, success } of trajectories())
    passes.set(task.seed, [...(passes.get(task.seed) ?? []), success ? 1 : 0]);
  return new Map([...passes].map(([seed, outcomes]) => [seed, mean(outcomes)]));
}
