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
import { MIXED } from '../../../contracts/names';
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
  MIXED_MAY_LOSE,
  mixedOnBaseTasks,
  survivors,
  taskOrder,
  withoutLosers,
} from './competition';
import { crossFit, type CrossFitted, type Fit, RouterFits, whereKnown } from './decisions';
import { FOLLOWED, KnownOutcomes } from './known-outcomes';
import { compareMoving, type CrossFittedMoves, LATER_SHARE, LaterTurnsFits } from './later-turns';
import { ARM_TRIALS, type ArmPlayers, playArms } from './play-arms';
import { labelledTasks, type LabelledTasks } from './routing-task';
import { judgeSeveralNeeds, SeveralNeedsFits } from './several-needs';

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

/** Of that share, the part for openings with several needs. What they leave is for the mixed adapter alone. */
const SEVERAL_SHARE = 0.5;

/** A router with what follows its choice for an opening. */
interface ServedRouter {
  decisions: Decisions;
  several: RouterChoice['severalNeeds'] | null;
  laterTurns: RouterChoice['laterTurns'] | null;
}

const leftOutOf = (adapters: RouterChoice['adapters']): string[] =>
  adapters.filter(({ leftOut }) => leftOut).map(({ capabilityId }) => capabilityId);

/**
 * The kinds of the first round. `outcomes` learns from it, so it comes after; alone it learns from where `labels` and
 * base disagree.
 */
function firstKinds(pinned: CompetingRouter | null): CompetingRouter[] {
  const first = COMPETING_ROUTERS.filter((kind) => kind !== 'outcomes');
  if (pinned === null) return first.filter((kind) => kind !== 'mixed');
  return first.filter((kind) => kind === 'base' || kind === (pinned === 'outcomes' ? 'labels' : pinned));
}

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
    const playsMixed = pinned === null && this.players.adapters.some(({ capabilityId }) => capabilityId === MIXED);
    const budget = playsMixed ? this.budget * (1 - MIXED_SHARE) : this.budget;
    this.comparedFirst = await this.play(this.all, budget * FIRST_SHARE);
    if (pinned === null || pinned === 'outcomes') {
      const outcomes = await this.crossFit('outcomes');
      this.all.push(whereKnown(outcomes, this.crossFitted('labels'), this.seeds, this.known));
      this.all.sort((a, b) => COMPETING_ROUTERS.indexOf(a.kind) - COMPETING_ROUTERS.indexOf(b.kind));
    }
    // A kind is not to blame for an adapter that loses: it is compared without it.
    this.pruned = this.all.map((kind) =>
      withoutLosers(kind, this.capabilityIds, this.comparedFirst, this.seeds, this.known),
    );
    this.left = survivors(this.pruned, this.comparedFirst, this.seeds, this.known);
    this.comparedLast = await this.play(this.left, budget);
    const router = pinned === null ? this.bestRouter : this.pruned.find(({ kind }) => kind === pinned)!;
    const laterTurns = await this.compareMoving(router);
    const followed = laterTurns?.adopted ? this.withMoves(router) : router;
    const several = playsMixed ? await this.compareSeveralNeeds(followed) : null;
    const decisions = several?.adopted ? several.decisions : followed;
    this.served = { decisions, several: several?.verdict ?? null, laterTurns };
    if (!playsMixed) return;
    const mixed = await this.crossFit('mixed');
    this.mixed = { decisions: mixed, compared: await this.play([decisions, mixed], this.budget) };
  }

  private get capabilityIds(): string[] {
    return this.players.adapters.flatMap(({ capabilityId }) => (capabilityId === MIXED ? [] : [capabilityId]));
  }

  private get bestRouter(): Decisions {
    return chooseKind(this.left, this.comparedLast, this.seeds, this.known);
  }

  /**
   * The simplest kind within one standard error of the best: routers first, then the best of them and mixed, unless
   * that is clearly behind or harms tasks which need no adapter.
   */
  private get winner(): CompetingRouter {
    const { mixed } = this;
    const router = this.served!.decisions;
    if (mixed === null || this.mixedOnBaseTasks?.harms) return router.kind;
    const base = this.crossFitted('base');
    const finalists = [base, mixed.decisions, ...(router.kind === 'base' ? [] : [router])];
    return chooseKind(finalists, mixed.compared, this.seeds, this.known, MIXED_MAY_LOSE).kind;
  }

  private get mixedOnBaseTasks(): NonNullable<RouterChoice['mixedOnBaseTasks']> | null {
    const { mixed, served, seeds, known } = this;
    if (mixed === null) return null;
    const rivals = { mixed: mixed.decisions, router: served!.decisions, base: this.crossFitted('base') };
    return mixedOnBaseTasks(rivals, mixed.compared, seeds, known);
  }

  private fitOf(kind: CompetingRouter): Fit {
    return kind === 'outcomes' ? this.fits.outcomes(this.known) : this.fits[kind];
  }

  private crossFit(kind: CompetingRouter): Promise<CrossFitted> {
    return withHeartbeats(`fitting router ${kind}`, () =>
      crossFit(kind, this.fitOf(kind), this.labelled, this.players.context.seed),
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
    const kind = pinned ?? this.winner;
    const served = kind === this.served!.decisions.kind ? this.served! : null;
    const adapters = this.adaptersThrough(kind);
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

  private async fit(kind: CompetingRouter, leftOut: string[], served: ServedRouter | null): Promise<CompetitionRouter> {
    const fitted = { ...(await this.fitOf(kind)(this.labelled)), leftOut };
    if (fitted.kind === 'base' || fitted.kind === 'mixed' || served === null) return fitted;
    const router = served.several?.adopted ? { ...fitted, severalNeeds: await this.several.fit() } : fitted;
    return served.laterTurns?.adopted ? this.later.addTo(router, served.laterTurns) : router;
  }

  /** Each adapter through a kind. Only the first round plays every task that is given to one. */
  private adaptersThrough(kind: CompetingRouter): RouterChoice['adapters'] {
    const { comparedFirst, seeds, known, capabilityIds } = this;
    return adaptersThrough(this.crossFitted(kind), capabilityIds, comparedFirst, seeds, known);
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
    const leftOut = leftOutOf(this.adaptersThrough(kind));
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
    return [...this.all, ...(this.mixed ? [this.mixed.decisions] : [])].find((decisions) => decisions.kind === kind)!;
  }

  private describe(chosen: CompetingRouter, pinned: boolean, adapters: RouterChoice['adapters']): RouterChoice {
    const { seeds, known, left, comparedFirst, comparedLast, mixed, mixedOnBaseTasks } = this;
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
      competitors: mixed
        ? [...rows, row(mixed.decisions, this.served!.decisions, mixed.compared, mixed.compared)]
        : rows,
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
