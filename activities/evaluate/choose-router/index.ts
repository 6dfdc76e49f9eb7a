import { Context } from '@temporalio/activity';
import { consensusLabelSchema } from '../../../contracts/artifacts/identification';
import {
  COMPETING_ROUTERS,
  type CompetingRouter,
  type CompetitionRouter,
  type RouterChoice,
  routerChoiceSchema,
  routerSchema,
} from '../../../contracts/artifacts/router';
import { trajectorySchema } from '../../../contracts/artifacts/trajectory';
import type { ChooseRouterInput, ChooseRouterResult } from '../../../contracts/messages/evaluate-stage';
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
  survivors,
  taskOrder,
  withoutLosers,
} from './competition';
import { crossFit, type CrossFitted, RouterFits } from './decisions';
import { KnownOutcomes } from './known-outcomes';
import { ARM_TRIALS, type ArmPlayers, playArms } from './play-arms';
import { labelledTasks, type LabelledTasks } from './routing-task';

/**
 * Makes the activity `chooseRouter`: lets the kinds of routers compete on the train tasks, and writes the winner
 * (docs/adr/0015). The same input gives the same router.
 */
export function createChooseRouter(deps: RolloutDeps): (input: ChooseRouterInput) => Promise<ChooseRouterResult> {
  return async (input) => {
    const { store } = deps;
    const { context, adapters, capabilities } = input;
    const prepared = await readPreparedSpec(store, context.spec);
    const { router: pinned, routingRollouts: budget } = prepared.spec.evaluation;
    const labelled = await withHeartbeats('reading the labelled tasks', async () =>
      labelledTasks(
        await storedLines(store, trajectorySchema)(input.trajectories),
        await storedLines(store, consensusLabelSchema)(input.labels),
        capabilities.map(({ id }) => id),
      ),
    );
    const kinds = pinned === 'auto' ? null : pinned;
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

/** Share of the budget for the first round. The rest is for kinds that are close to each other. */
const FIRST_SHARE = 0.5;

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
  private played = 0;

  constructor(
    private readonly deps: RolloutDeps,
    private readonly players: ArmPlayers,
    private readonly labelled: LabelledTasks,
    private readonly fits: RouterFits,
    private readonly budget: number,
  ) {
    this.known = new KnownOutcomes(labelled.tasks);
    this.seeds = labelled.tasks.map(({ seed }) => seed);
    this.order = taskOrder(this.seeds.length, players.context.seed);
  }

  /** Plays both rounds. With `pinned` only that kind is compared with base. */
  async hold(pinned: CompetingRouter | null): Promise<void> {
    for (const kind of COMPETING_ROUTERS)
      if (pinned === null || kind === 'base' || kind === pinned) this.all.push(await this.crossFit(kind));
    this.comparedFirst = await this.play(this.all, this.budget * FIRST_SHARE);
    // A kind is not to blame for an adapter that loses: it is compared without it.
    this.pruned = this.all.map((kind) =>
      withoutLosers(kind, this.capabilityIds, this.comparedFirst, this.seeds, this.known),
    );
    this.left = survivors(this.pruned, this.comparedFirst, this.seeds, this.known);
    this.comparedLast = await this.play(this.left, this.budget);
  }

  private get capabilityIds(): string[] {
    return this.players.adapters.map(({ capabilityId }) => capabilityId);
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
    const { left, comparedFirst, comparedLast, seeds, known } = this;
    const kind = pinned ?? chooseKind(left, comparedLast, seeds, known).kind;
    // Only the first round plays every task that is given to an adapter; the last one plays those that are contested.
    const adapters = adaptersThrough(this.crossFitted(kind), this.capabilityIds, comparedFirst, seeds, known);
    const router = await withHeartbeats(`fitting router ${kind}`, () => this.fits[kind](this.labelled));
    const leftOut = adapters.filter((adapter) => adapter.leftOut).map(({ capabilityId }) => capabilityId);
    return { router: { ...router, leftOut }, choice: this.describe(kind, pinned !== null, adapters) };
  }

  private crossFitted(kind: CompetingRouter): CrossFitted {
    return this.all.find((decisions) => decisions.kind === kind)!;
  }

  private describe(chosen: CompetingRouter, pinned: boolean, adapters: RouterChoice['adapters']): RouterChoice {
    const { seeds, known, left, comparedFirst, comparedLast } = this;
    const base = this.crossFitted('base');
    const best = bestOf(left, comparedLast, seeds, known);
    const isLeft = (kind: Decisions) => !left.includes(kind);
    return {
      chosen,
      pinned,
      trainTasks: seeds.length,
      compared: comparedLast.length,
      rollouts: this.played * ARM_TRIALS,
      budget: this.budget,
      competitors: this.pruned.map((kind) =>
        competitorRow(
          kind,
          { base, best },
          { withBase: comparedFirst, withBest: isLeft(kind) ? comparedFirst : comparedLast },
          seeds,
          known,
          isLeft(kind),
        ),
      ),
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
