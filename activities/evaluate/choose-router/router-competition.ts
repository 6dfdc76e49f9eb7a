import {
  COMPETING_ROUTERS,
  type CompetingRouter,
  type CompetitionRouter,
  LATER_MESSAGES,
  type RouterChoice,
  type Spending,
} from '../../../contracts/artifacts/router';
import { MIXED } from '../../../contracts/names';
import type { RolloutDeps } from '../../rollout/rollout-deps';
import { adaptersThrough, contestedTasks, leftOutOf, withoutLosers } from './adapter-set';
import { armsToPlay, bestOf, chooseKind, competitorRow, type Decisions, survivors, taskOrder } from './competition';
import { crossFit, type CrossFitted, type Fit, type RouterFits } from './decisions';
import { comparedIn, type FinalRound, playFinal } from './final-round';
import { harmOf } from './harm-bound';
import { FOLLOWED, KnownOutcomes } from './known-outcomes';
import { compareMoving, type CrossFittedMoves, LATER_SHARE, LaterTurnsFits } from './later-turns';
import { ARM_TRIALS, type ArmPlayers, playArms } from './play-arms';
import { routerReliability } from './reliability';
import type { LabelledTasks } from './routing-task';
import { judgeSeveralNeeds, SeveralNeedsFits } from './several-needs';
import { spendingAfter } from './spending';
import { withHeartbeats } from './with-heartbeats';

/** Share of the routers' budget for the first round. The rest is for kinds that are close to each other. */
const FIRST_SHARE = 0.5;

/**
 * Share of the budget for the comparison with what uses the mixed adapter, which differs from a router on many tasks.
 * What the routers leave of theirs is added to it.
 */
const MIXED_SHARE = 0.6;

/** Of that share, the part for openings with several needs. What they leave is for the mixed adapter alone. */
const SEVERAL_SHARE = 0.5;

/** How often tasks are bought for adapters that may do harm, each time as many as they had. */
const HARM_ROUNDS = 3;

/** A router with what follows its choice for an opening. */
interface ServedRouter {
  decisions: Decisions;
  several: RouterChoice['severalNeeds'] | null;
  laterTurns: RouterChoice['laterTurns'] | null;
}

/**
 * The kinds of the first round. `outcomes-mixed` learns from their outcomes, so it is fitted last; pinned, it learns
 * from where `labels` and base disagree.
 */
function firstKinds(pinned: CompetingRouter | null): CompetingRouter[] {
  const first = COMPETING_ROUTERS.filter((kind) => kind !== 'outcomes-mixed');
  if (pinned === null) return first.filter((kind) => kind !== 'mixed');
  return first.filter((kind) => kind === 'base' || kind === (pinned === 'outcomes-mixed' ? 'labels' : pinned));
}

/** The competition of one run's routers. */
export class RouterCompetition {
  private readonly known: KnownOutcomes;
  private readonly seeds: readonly number[];
  private readonly order: readonly number[];
  private readonly all: CrossFitted[] = [];
  private pruned: Decisions[] = [];
  private left: Decisions[] = [];
  /** Tasks on which all kinds can be compared, and those on which the kinds that were left can. */
  private comparedFirst: number[] = [];
  private comparedLast: number[] = [];
  /** The comparison with what uses the mixed adapter. Null without one. */
  private final: FinalRound | null = null;
  private played = 0;
  /** Each adapter through each kind that was compared. */
  private readonly adapters = new Map<CompetingRouter, RouterChoice['adapters']>();
  /** Tasks on which the adapters of the best router were compared with base. */
  private comparedWithBase: number[] = [];
  private boughtForHarm = 0;
  private boughtForMoves = 0;
  private readonly spending: Spending[] = [];
  private readonly budgetOfMoves: number;
  private readonly later: LaterTurnsFits;
  private readonly several: SeveralNeedsFits;
  /** The best router, or the pinned one, as it would be served: its decisions, and what follows openings. */
  private served: ServedRouter | null = null;
  /** How many tasks of the order are known as they would be served, with their moves. */
  private followed = Infinity;
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
    this.several = new SeveralNeedsFits(labelled, this.capabilityIds, fits.ridge);
    this.known = new KnownOutcomes(labelled.tasks);
    this.seeds = labelled.tasks.map(({ seed }) => seed);
    this.order = taskOrder(this.seeds.length, players.context.seed);
  }

  /** Plays all rounds. With `pinned` only that kind is compared with base. */
  async hold(pinned: CompetingRouter | null): Promise<void> {
    for (const kind of firstKinds(pinned)) this.all.push(await this.crossFit(kind));
    for (const reads of LATER_MESSAGES) {
      const moves = await withHeartbeats('reading later messages', () =>
        this.later.crossFit(reads, this.players.context.seed),
      );
      if (moves) this.moves.push(moves);
    }
    if (this.moves.length > 0) this.budget -= this.budgetOfMoves;
    const playsMixed = this.hasMixed && (pinned === null || pinned === 'outcomes-mixed');
    const budget = playsMixed ? this.budget * (1 - MIXED_SHARE) : this.budget;
    this.comparedFirst = await this.play(this.all, budget * FIRST_SHARE);
    // A kind is not to blame for an adapter that loses: it is compared without it.
    this.pruned = this.all.map((kind) => this.judgeAdapters(kind, this.comparedFirst));
    this.noteSpending('first-round', this.preferred(this.pruned, this.comparedFirst, pinned));
    this.left = survivors(this.pruned, this.comparedFirst, this.seeds, this.known);
    this.comparedLast = await this.play(this.left, budget);
    const preferred = this.preferred(this.left, this.comparedLast, pinned);
    this.noteSpending('second-round', preferred);
    const router = await this.narrowHarm(preferred.kind, budget);
    this.noteSpending('harm', router);
    const laterTurns = await this.compareMoving(router);
    const followed = laterTurns?.adopted ? this.withMoves(router) : router;
    this.boughtForMoves = laterTurns?.rollouts ?? 0;
    this.noteSpending('later-turns', followed);
    const several = playsMixed && pinned === null ? await this.compareSeveralNeeds(followed) : null;
    const decisions = several?.adopted ? several.decisions : followed;
    this.noteSpending('several-needs', decisions);
    this.served = { decisions, several: several?.verdict ?? null, laterTurns };
    if (playsMixed) this.final = await this.playFinal(router, decisions);
  }

  private async playFinal(router: Decisions, served: Decisions): Promise<FinalRound> {
    const { known, seeds, capabilityIds, order } = this;
    const host = {
      ...{ known, seeds, capabilityIds, order },
      play: (kinds: readonly Decisions[], share: number, tasks: readonly number[]) => {
        const spent = this.played * ARM_TRIALS;
        return this.play(kinds, spent + (this.budget - spent) * share, tasks);
      },
      learn: () => this.crossFit('outcomes-mixed'),
      note: this.noteSpending.bind(this),
    };
    const [base, mixed] = [this.crossFitted('base'), await this.crossFit('mixed')];
    return playFinal(host, { base, router, served: served.kind === 'base' ? base : served, mixed });
  }

  private get hasMixed(): boolean {
    return this.players.adapters.some(({ capabilityId }) => capabilityId === MIXED);
  }

  /** The kind that is pinned, or the best. */
  private preferred(decisions: Decisions[], tasks: readonly number[], pinned: CompetingRouter | null): Decisions {
    // That kind is fitted last.
    const wanted = pinned === 'outcomes-mixed' ? 'labels' : pinned;
    if (wanted !== null) return this.pruned.find(({ kind }) => kind === wanted)!;
    return chooseKind(decisions, tasks, this.seeds, this.known);
  }

  /** Decides which adapters of a kind help, and returns its decisions without the others. */
  private judgeAdapters(kind: Decisions, tasks: readonly number[]): Decisions {
    const adapters = adaptersThrough(kind, this.capabilityIds, tasks, this.seeds, this.known);
    this.adapters.set(kind.kind, adapters);
    return withoutLosers(kind, adapters);
  }

  /**
   * Buys tasks for those adapters of the best router of which harm above the margin cannot be excluded, from what the
   * routers have left of their budget, and decides again which adapters help.
   */
  private async narrowHarm(kind: CompetingRouter, budget: number): Promise<Decisions> {
    const [whole, base] = [this.crossFitted(kind), this.crossFitted('base')];
    this.comparedWithBase = this.comparedFirst;
    const before = this.played;
    for (let round = 0; round < HARM_ROUNDS; round++) {
      const adapters = this.adapters.get(kind)!;
      const wanted = contestedTasks(whole, adapters, this.order, this.comparedWithBase, this.lossMargin);
      const compared = await this.play([whole, base], budget, wanted);
      if (compared.length === 0) break;
      this.comparedWithBase = [...this.comparedWithBase, ...compared];
      this.judgeAdapters(whole, this.comparedWithBase);
    }
    this.boughtForHarm = (this.played - before) * ARM_TRIALS;
    const router = withoutLosers(whole, this.adapters.get(kind)!);
    const replaced = (all: Decisions[]) => all.map((other) => (other.kind === kind ? router : other));
    [this.pruned, this.left] = [replaced(this.pruned), replaced(this.left)];
    return router;
  }

  private get lossMargin(): number {
    return this.players.prepared.spec.gate.lossMargin;
  }

  /** Keeps what is known after a step, when it bought anything. */
  private noteSpending(step: Spending['step'], best: Decisions, compared = this.comparedPrefix): void {
    const rollouts = this.played * ARM_TRIALS + this.boughtForMoves;
    if (rollouts === (this.spending.at(-1)?.rollouts ?? 0)) return;
    this.spending.push(spendingAfter({ step, rollouts }, best, compared, this.labelled.tasks, this.known));
  }

  /** Beginning of the drawn order on which kinds were compared. What was bought for single adapters is not in it. */
  private get comparedPrefix(): readonly number[] {
    const { comparedFirst, comparedLast } = this;
    return comparedLast.length > comparedFirst.length ? comparedLast : comparedFirst;
  }

  /** Tasks on which the harm is estimated: all that were given to an adapter of them were played. */
  private get gainTasks(): readonly number[] {
    return this.comparedWithBase.length > 0 ? this.comparedWithBase : this.comparedFirst;
  }

  private get capabilityIds(): string[] {
    return this.players.adapters.flatMap(({ capabilityId }) => (capabilityId === MIXED ? [] : [capabilityId]));
  }

  private fitOf(kind: CompetingRouter): Fit {
    return kind === 'outcomes-mixed' ? this.fits.outcomesMixed(this.known) : this.fits[kind];
  }

  private crossFit(kind: CompetingRouter): Promise<CrossFitted> {
    return withHeartbeats(`fitting router ${kind}`, () =>
      crossFit(kind, this.fitOf(kind), this.labelled, this.players.context.seed),
    );
  }

  /** Buys rollouts until the budget, and returns the tasks of `order` on which these decisions can be compared. */
  private async play(decisions: readonly Decisions[], budget: number, order = this.order): Promise<number[]> {
    const rest = Math.floor(budget / ARM_TRIALS) - this.played;
    const { missing, compared } = armsToPlay(decisions, order, this.seeds, this.known, rest);
    await playArms(this.deps, this.players, missing, this.known);
    this.played += missing.length;
    return order.slice(0, compared);
  }

  /** The chosen router, fitted on all train tasks, and how it was chosen. */
  async result(pinned: CompetingRouter | null): Promise<{ router: CompetitionRouter; choice: RouterChoice }> {
    const kind = pinned ?? this.final?.winner.kind ?? this.served!.decisions.kind;
    const served = this.servedAs(kind);
    const adapters = this.adaptersOf(kind);
    const router = await withHeartbeats(`fitting router ${kind}`, () => this.fit(kind, leftOutOf(adapters), served));
    const choice = this.describe(kind, pinned !== null, adapters);
    return {
      router,
      choice: {
        ...choice,
        ...(served?.several && { severalNeeds: served.several }),
        // What was bought for a router that is not chosen was bought for the comparison.
        ...(served?.laterTurns
          ? { laterTurns: served.laterTurns }
          : { rollouts: choice.rollouts + (this.served!.laterTurns?.rollouts ?? 0) }),
      },
    };
  }

  /** The decisions of a kind and what follows them. Null for one arm, and for a router that lost. */
  private servedAs(kind: CompetingRouter): ServedRouter | null {
    if (kind === this.served!.decisions.kind) return this.served!;
    if (kind !== 'outcomes-mixed' || this.final === null) return null;
    // It decides by itself which openings with several needs get the mixed adapter.
    return { decisions: this.final.learned, several: null, laterTurns: this.served!.laterTurns };
  }

  private async fit(kind: CompetingRouter, leftOut: string[], served: ServedRouter | null): Promise<CompetitionRouter> {
    const fitted = { ...(await this.fitOf(kind)(this.labelled)), leftOut };
    if (fitted.kind === 'base' || fitted.kind === 'mixed' || served === null) return fitted;
    const router = served.several?.adopted ? { ...fitted, severalNeeds: await this.several.fit() } : fitted;
    return served.laterTurns?.adopted ? this.later.addTo(router, served.laterTurns) : router;
  }

  /** Each adapter through a kind: where every task that is given to one was played. */
  private adaptersOf(kind: CompetingRouter): RouterChoice['adapters'] {
    const { comparedFirst, seeds, known, capabilityIds } = this;
    if (kind === 'outcomes-mixed' && this.final !== null) return this.final.adapters;
    const whole = this.crossFitted(kind);
    return this.adapters.get(kind) ?? adaptersThrough(whole, capabilityIds, comparedFirst, seeds, known);
  }

  /** How much the chosen kind may lose against base, as it would be served. */
  private harmBy(kind: CompetingRouter): Pick<RouterChoice, 'harm'> {
    const { final, seeds, known, lossMargin: margin, boughtForHarm } = this;
    const decisions = final && kind === 'mixed' ? final.mixed : this.servedAs(kind)?.decisions;
    if (decisions === undefined) return {};
    const isFinal = final !== null && (kind === 'mixed' || kind === 'outcomes-mixed');
    const tasks = isFinal ? comparedIn(final, decisions, this.crossFitted('base')) : this.gainTasks;
    const harm = harmOf(decisions, tasks, seeds, known, { margin, bought: isFinal ? 0 : boughtForHarm });
    return harm ? { harm } : {};
  }

  /**
   * Whether the mixed adapter should get openings with several needs, instead of the router with its moves. Null: too
   * few have, or there is no router.
   */
  private async compareSeveralNeeds(
    router: Decisions,
  ): Promise<{ decisions: Decisions; verdict: RouterChoice['severalNeeds'] & object; adopted: boolean } | null> {
    if (router.kind === 'base') return null;
    const { seeds, known, players } = this;
    const decisions = await withHeartbeats('reading openings with several needs', () =>
      this.several.crossFit(router, players.context.seed),
    );
    if (decisions === null) return null;
    const compared = await this.play([router, decisions], this.budget * (1 - MIXED_SHARE * SEVERAL_SHARE));
    // Beyond these, what moving would do is not known.
    const judged = compared.slice(0, this.followed);
    const verdict = judgeSeveralNeeds({ router, augmented: decisions }, judged, seeds, known);
    return verdict && { decisions, verdict, adopted: verdict.adopted };
  }

  /**
   * Whether conversations should move at later messages: the first way of reading them by which moving gains. Base and
   * the mixed adapter alone leave nothing to choose.
   */
  private async compareMoving({ kind, chosen }: Decisions): Promise<RouterChoice['laterTurns'] | null> {
    if (kind === 'base' || kind === 'mixed') return null;
    const { known, deps, players, labelled } = this;
    const leftOut = leftOutOf(this.adaptersOf(kind));
    let found: RouterChoice['laterTurns'] | null = null;
    for (const moves of this.moves) {
      const rollouts: number = found?.rollouts ?? 0;
      const budget = this.budgetOfMoves - rollouts;
      const tried = await compareMoving(deps, players, labelled, moves, { chosen, leftOut, known, budget });
      if (tried === null) continue;
      found = { ...tried.verdict, rollouts: rollouts + tried.verdict.rollouts };
      if (!found.adopted) continue;
      this.followed = tried.reached;
      break;
    }
    return found;
  }

  /** With their moves on the tasks on which these were played. The others count as if they stayed. */
  private withMoves({ kind, chosen }: Decisions): Decisions {
    const { seeds, known } = this;
    return { kind, chosen: chosen.map((arm, i) => (known.rate(seeds[i]!, FOLLOWED) === null ? arm : FOLLOWED)) };
  }

  private crossFitted(kind: CompetingRouter): CrossFitted {
    return [...this.all, ...(this.final ? [this.final.mixed, this.final.whole] : [])].find(
      (decisions) => decisions.kind === kind,
    )!;
  }

  private describe(chosen: CompetingRouter, pinned: boolean, adapters: RouterChoice['adapters']): RouterChoice {
    const { seeds, known, left, comparedFirst, comparedLast, final } = this;
    const base = this.crossFitted('base');
    const best = bestOf(left, comparedLast, seeds, known);
    const hasLeft = (kind: Decisions) =>
      !(left.includes(kind) || final?.left.includes(kind) || (kind === final?.mixed && final.mixedOnBaseTasks?.harms));
    const row = (kind: Decisions, rival: Decisions, withBase: readonly number[], withBest: readonly number[]) =>
      competitorRow(kind, { base, best: rival }, { withBase, withBest }, seeds, known, hasLeft(kind));
    const rows = this.pruned.map((kind) =>
      row(kind, best, comparedFirst, hasLeft(kind) ? comparedFirst : comparedLast),
    );
    const rival = this.served!.decisions.kind === 'base' ? base : this.served!.decisions;
    const finalists = final ? [final.mixed, final.learned] : [];
    return {
      chosen,
      pinned,
      trainTasks: seeds.length,
      compared: comparedLast.length,
      rollouts: this.played * ARM_TRIALS,
      budget: this.budget,
      competitors: [
        ...rows,
        ...finalists.map((kind) => row(kind, rival, comparedIn(final!, kind, base), comparedIn(final!, kind, rival))),
      ],
      ...(final && { comparedMixed: comparedIn(final, final.mixed, rival).length }),
      ...(final?.mixedOnBaseTasks && { mixedOnBaseTasks: final.mixedOnBaseTasks }),
      adapters,
      ...this.harmBy(chosen),
      ...(this.spending.length > 0 && { spending: this.spending }),
      ...routerReliability(this.crossFitted(chosen), this.labelled.tasks),
    };
  }
}
