import { Context } from '@temporalio/activity';
import { consensusLabelSchema } from '../../../contracts/artifacts/identification';
import {
  COMPETING_ROUTERS,
  type CompetingRouter,
  type CompetitionRouter,
  LATER_MESSAGES,
  type RouterChoice,
  routerChoiceSchema,
  routerSchema,
} from '../../../contracts/artifacts/router';
import { trajectorySchema } from '../../../contracts/artifacts/trajectory';
import type { ChooseRouterInput, ChooseRouterResult } from '../../../contracts/messages/evaluate-stage';
import { MIXED, NONE_LABEL } from '../../../contracts/names';
import { layout, putJson, storedLines } from '../../../store';
import { startProgress } from '../../progress';
import { readPreparedSpec } from '../../prepared-spec';
import type { RolloutDeps } from '../../rollout/rollout-deps';
import { askMenu } from '../ask-menu';
import { routerReliability } from './reliability';
import {
  adaptersThrough,
  armsToPlay,
  bestOf,
  chooseKind,
  competitorRow,
  type Decisions,
  mixedOnBaseTasks,
  survivors,
  taskOrder,
  withoutLosers,
} from './competition';
import { crossFit, type CrossFitted, RouterFits } from './decisions';
import { KnownOutcomes } from './known-outcomes';
import { compareMoving, type CrossFittedMoves, LATER_SHARE, LaterTurnsFits } from './later-turns';
import { ARM_TRIALS, type ArmPlayers, playArms } from './play-arms';
import { labelledTasks, type LabelledTasks } from './routing-task';

/**
 * Makes the activity `chooseRouter`: lets the kinds of routers compete on the train tasks, and writes the winner
 * (docs/adr/0015). The same input gives the same router.
 */
export function createChooseRouter(deps: RolloutDeps): (input: ChooseRouterInput) => Promise<ChooseRouterResult> {
  return async (input) => {
    const { store } = deps;
    const { context, capabilities } = input;
    const adapters = [...input.adapters, ...(input.mixed ? [input.mixed] : [])];
    const prepared = await readPreparedSpec(store, context.spec);
    const { router: pinned, routingRollouts: budget } = prepared.spec.evaluation;
    const labelled = await withHeartbeats('reading the labelled tasks', async () =>
      labelledTasks(
        await storedLines(store, trajectorySchema)(input.trajectories),
        await storedLines(store, consensusLabelSchema)(input.labels),
        capabilities.map(({ id }) => id),
      ),
    );
    // Without its adapter the pinned kind `mixed` can give conversations to nobody but base.
    const kinds = pinned === 'auto' ? null : pinned === 'mixed' && !input.mixed ? 'base' : pinned;
    if (kinds === null || kinds === 'logits') {
      const openings = new Map(labelled.tasks.map(({ seed, opening }) => [seed, opening]));
      const answers = await askMenu(deps, { runId: context.runId, prepared, capabilities, openings });
      for (const task of labelled.tasks) task.answer = answers.get(task.seed) ?? null;
    }
    const fits = await withHeartbeats('fitting routers', () =>
      RouterFits.prepare(labelled, capabilities, context.seed),
    );
    const competition = new Competition(deps, { context, prepared, adapters }, labelled, fits, budget);
    await competition.hold(kinds);
    const { router, choice } = await competition.result(kinds);
    const folder = layout.evaluation(context.runId);
    return {
      router: await putJson(store, folder, 'router.json', routerSchema.parse(router)),
      choice: await putJson(store, folder, 'router-choice.json', routerChoiceSchema.parse(choice)),
      kind: choice.chosen,
      summary: routerSummary(choice),
    };
  };
}

/** Runs work that sends no heartbeats of its own. */
async function withHeartbeats<T>(note: string, work: () => Promise<T>): Promise<T> {
  const { heartbeat } = Context.current();
  const progress = startProgress({ stage: 'evaluate', unit: 'routers', total: 1, heartbeat, note });
  try {
    return await work();
  } finally {
    progress.stop();
  }
}

/** Share of the routers' budget for the first round. The rest is for kinds that are close to each other. */
const FIRST_SHARE = 0.5;

/**
 * Share of the budget for the comparison with the mixed adapter, which differs from a router on nearly every task. What
 * the routers leave of theirs is added to it.
 */
const MIXED_SHARE = 0.4;

/** One competition. */
class Competition {
  private readonly known: KnownOutcomes;
  private readonly seeds: readonly number[];
  private readonly order: readonly number[];
  private readonly all: CrossFitted[] = [];
  private pruned: Decisions[] = [];
  private left: Decisions[] = [];
  /** Tasks on which all kinds can be compared, and those on which the kinds that were left can. */
  private comparedFirst: number[] = [];
  private comparedLast: number[] = [];
  /** The mixed adapter, and the tasks on which it can be compared with the best router. Null without one. */
  private mixed: { decisions: CrossFitted; compared: number[] } | null = null;
  private played = 0;
  private readonly budgetOfMoves: number;
  private readonly later: LaterTurnsFits;
  /** Train tasks that later messages would move, for each way of reading them by which enough would. */
  private readonly moves: CrossFittedMoves[] = [];

  constructor(
    private readonly deps: RolloutDeps,
    private readonly players: ArmPlayers,
    private readonly labelled: LabelledTasks,
    private readonly fits: RouterFits,
    private budget: number,
  ) {
    this.budgetOfMoves = budget * LATER_SHARE;
    this.later = new LaterTurnsFits(labelled, this.capabilityIds, fits.ridge);
    this.known = new KnownOutcomes(labelled.tasks);
    this.seeds = labelled.tasks.map(({ seed }) => seed);
    this.order = taskOrder(this.seeds.length, players.context.seed);
  }

  /** Plays all rounds. With `pinned` only that kind is compared with base. */
  async hold(pinned: CompetingRouter | null): Promise<void> {
    for (const kind of COMPETING_ROUTERS)
      if (kind === pinned || (kind !== 'mixed' && (pinned === null || kind === 'base')))
        this.all.push(await this.crossFit(kind));
    for (const reads of LATER_MESSAGES) {
      const moves = await withHeartbeats('reading later messages', () =>
        this.later.crossFit(reads, this.players.context.seed),
      );
      if (moves) this.moves.push(moves);
    }
    if (this.moves.length > 0) this.budget -= this.budgetOfMoves;
    const playsMixed = pinned === null && this.players.adapters.some(({ capabilityId }) => capabilityId === MIXED);
    const budget = playsMixed ? this.budget * (1 - MIXED_SHARE) : this.budget;
    this.comparedFirst = await this.play(this.all, budget * FIRST_SHARE);
    // A kind is not to blame for an adapter that loses: it is compared without it.
    this.pruned = this.all.map((kind) =>
      withoutLosers(kind, this.capabilityIds, this.comparedFirst, this.seeds, this.known),
    );
    this.left = survivors(this.pruned, this.comparedFirst, this.seeds, this.known);
    this.comparedLast = await this.play(this.left, budget);
    if (!playsMixed) return;
    const decisions = await this.crossFit('mixed');
    this.mixed = { decisions, compared: await this.play([this.bestRouter, decisions], this.budget) };
  }

  private get capabilityIds(): string[] {
    return this.players.adapters.flatMap(({ capabilityId }) => (capabilityId === MIXED ? [] : [capabilityId]));
  }

  private get bestRouter(): Decisions {
    return chooseKind(this.left, this.comparedLast, this.seeds, this.known);
  }

  /**
   * The simplest kind within one standard error of the best: routers first, then the best of them and mixed, unless
   * that harms tasks which need no adapter.
   */
  private get winner(): CompetingRouter {
    const { bestRouter, mixed } = this;
    if (mixed === null || this.mixedOnBaseTasks?.harms) return bestRouter.kind;
    const base = this.crossFitted('base');
    const finalists = [base, mixed.decisions, ...(bestRouter.kind === 'base' ? [] : [bestRouter])];
    return chooseKind(finalists, mixed.compared, this.seeds, this.known).kind;
  }

  private get mixedOnBaseTasks(): NonNullable<RouterChoice['mixedOnBaseTasks']> | null {
    const { mixed, bestRouter, seeds, known } = this;
    if (mixed === null) return null;
    const rivals = { mixed: mixed.decisions, router: bestRouter, base: this.crossFitted('base') };
    return mixedOnBaseTasks(rivals, mixed.compared, seeds, known);
  }

  private crossFit(kind: CompetingRouter): Promise<CrossFitted> {
    return withHeartbeats(`fitting router ${kind}`, () =>
      crossFit(kind, this.fits[kind], this.labelled, this.players.context.seed),
    );
  }

  /** Buys rollouts until the budget, and returns the tasks on which these decisions can be compared. */
  private async play(decisions: readonly Decisions[], budget: number): Promise<number[]> {
    const rest = Math.floor(budget / ARM_TRIALS) - this.played;
    const { missing, compared } = armsToPlay(decisions, this.order, this.seeds, this.known, rest);
    await playArms(this.deps, this.players, missing, this.known);
    this.played += missing.length;
    return this.order.slice(0, compared);
  }

  /** The chosen router, fitted on all train tasks, and how it was chosen. */
  async result(pinned: CompetingRouter | null): Promise<{ router: CompetitionRouter; choice: RouterChoice }> {
    const { comparedFirst, seeds, known, labelled, capabilityIds, fits } = this;
    const kind = pinned ?? this.winner;
    // Only the first round plays every task that is given to an adapter; the last one plays those that are contested.
    const adapters = adaptersThrough(this.crossFitted(kind), capabilityIds, comparedFirst, seeds, known);
    const leftOut = adapters.filter((adapter) => adapter.leftOut).map(({ capabilityId }) => capabilityId);
    const laterTurns = await this.compareMoving(kind, leftOut);
    const router = await withHeartbeats(`fitting router ${kind}`, async () => {
      const fitted = { ...(await fits[kind](labelled)), leftOut };
      return laterTurns?.adopted ? this.later.addTo(fitted, laterTurns) : fitted;
    });
    const choice = this.describe(kind, pinned !== null, adapters);
    return { router, choice: laterTurns ? { ...choice, laterTurns } : choice };
  }

  /**
   * Whether conversations should move at later messages: the first way of reading them by which moving gains. Base and
   * the mixed adapter alone leave nothing to choose.
   */
  private async compareMoving(kind: CompetingRouter, leftOut: string[]): Promise<RouterChoice['laterTurns'] | null> {
    if (kind === 'base' || kind === 'mixed') return null;
    const { known, deps, players, labelled } = this;
    const chosen = this.crossFitted(kind).chosen.map((arm) => (leftOut.includes(arm) ? NONE_LABEL : arm));
    let found: RouterChoice['laterTurns'] | null = null;
    for (const moves of this.moves) {
      const rollouts: number = found?.rollouts ?? 0;
      const budget = this.budgetOfMoves - rollouts;
      const tried = await compareMoving(deps, players, labelled, moves, { chosen, leftOut, known, budget });
      if (tried) found = { ...tried, rollouts: rollouts + tried.rollouts };
      if (tried?.adopted) break;
    }
    return found;
  }

  private crossFitted(kind: CompetingRouter): CrossFitted {
    return [...this.all, ...(this.mixed ? [this.mixed.decisions] : [])].find((decisions) => decisions.kind === kind)!;
  }

  private describe(chosen: CompetingRouter, pinned: boolean, adapters: RouterChoice['adapters']): RouterChoice {
    const { seeds, known, left, comparedFirst, comparedLast, mixed, bestRouter, mixedOnBaseTasks } = this;
    const base = this.crossFitted('base');
    const best = bestOf(left, comparedLast, seeds, known);
    const isLeft = (kind: Decisions) => !left.includes(kind);
    const row = (kind: Decisions, rival: Decisions, withBase: readonly number[], withBest: readonly number[]) =>
      competitorRow(
        kind,
        { base, best: rival },
        { withBase, withBest },
        seeds,
        known,
        isLeft(kind) && kind !== mixed?.decisions,
      );
    const rows = this.pruned.map((kind) => row(kind, best, comparedFirst, isLeft(kind) ? comparedFirst : comparedLast));
    return {
      chosen,
      pinned,
      trainTasks: seeds.length,
      compared: comparedLast.length,
      rollouts: this.played * ARM_TRIALS,
      budget: this.budget,
      competitors: mixed ? [...rows, row(mixed.decisions, bestRouter, mixed.compared, mixed.compared)] : rows,
      ...(mixed && { comparedMixed: mixed.compared.length }),
      ...(mixedOnBaseTasks && { mixedOnBaseTasks }),
      adapters,
      ...routerReliability(this.crossFitted(chosen), this.labelled.tasks),
    };
  }
}

/** One line for people: `router labels: +38.2 points against base on train tasks (512 tasks, 480 rollouts bought)`. */
function routerSummary({ chosen, competitors, rollouts, trainTasks }: RouterChoice): string {
  const gain = competitors.find(({ kind }) => kind === chosen)?.gain ?? 0;
  const points = `${gain < 0 ? '−' : '+'}${Math.abs(gain * 100).toFixed(1)} points`;
  return `router ${chosen}: ${points} against base on train tasks (${trainTasks} tasks, ${rollouts} rollouts bought)`;
}
