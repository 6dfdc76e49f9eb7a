import { consensusLabelSchema } from '../../../contracts/artifacts/identification';
import { type RouterChoice, routerChoiceSchema } from '../../../contracts/artifacts/router-choice';
import { trajectorySchema } from '../../../contracts/artifacts/trajectory';
import type { ChooseRouterInput, ChooseRouterResult } from '../../../contracts/messages/evaluate-stage';
import { layout, putJson, storedLines } from '../../../store';
import { pointsWithUnit } from '../../html/format';
import { readPreparedSpec } from '../../prepared-spec';
import type { RolloutDeps } from '../../rollout/rollout-deps';
import { askMenu } from '../ask-menu';
import { labelledTasks } from './routing-task';
import { holdCompetition, playOn, settingOf } from './hold';
import { resultOf } from './result';
import { withHeartbeats } from './with-heartbeats';
import type { RouterKind } from '../../../contracts/config/router-kinds';
import { chooseRidge, taskOrder } from '../../../routing/fit/fit-needs';
import { KINDS, routerSchema } from '../../../routing/kinds';

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
    const kinds = pinned === 'auto' ? null : input.mixed ? pinned : withoutMixed(pinned);
    if (kinds === null || 'menu' in KINDS[kinds]) {
      const openings = new Map(labelled.tasks.map(({ seed, opening }) => [seed, opening]));
      const answers = await askMenu(deps, { runId: context.runId, prepared, capabilities, openings });
      for (const task of labelled.tasks) task.answer = answers.get(task.seed) ?? null;
    }
    const ridge = await withHeartbeats('fitting routers', () =>
      chooseRidge(
        [...labelled.tasks, ...labelled.live],
        capabilities.map(({ id }) => id),
        context.seed,
      ),
    );
    const seeds = labelled.tasks.map(({ seed }) => seed);
    const order = taskOrder(seeds.length, context.seed);
    const { lossMargin } = prepared.spec.gate;
    const setting = await settingOf(
      {
        ...{ labelled, seeds, order, capabilities, ridge, pinned: kinds, lossMargin, seed: context.seed },
        ids: input.adapters.map(({ capabilityId }) => capabilityId),
        hasMixed: input.mixed !== undefined,
      },
      budget,
    );
    const state = await holdCompetition(setting, playOn(deps, { context, prepared, adapters }));
    const { router, choice } = await resultOf(setting, state);
    const folder = layout.evaluation(context.runId);
    return {
      router: await putJson(store, folder, 'router.json', routerSchema.parse(router)),
      choice: await putJson(store, folder, 'router-choice.json', routerChoiceSchema.parse(choice)),
      kind: choice.chosen,
      summary: routerSummary(choice),
    };
  };
}

/** The kind in place of a pinned one that needs the mixed adapter, where that was left out. */
function withoutMixed(pinned: RouterKind): RouterKind {
  const { needs, choosesArms } = KINDS[pinned];
  return needs.mixed ? (choosesArms ? 'labels' : 'base') : pinned;
}

/** One line for people: `router labels: +38.2 points against base on train tasks (512 tasks, 480 rollouts bought)`. */
function routerSummary({ chosen, competitors, rollouts, trainTasks }: RouterChoice): string {
  const gain = competitors.find(({ kind }) => kind === chosen)?.gain ?? 0;
  return `router ${chosen}: ${pointsWithUnit(gain)} against base on train tasks (${trainTasks} tasks, ${rollouts} rollouts bought)`;
}
