import { consensusLabelSchema } from '../../../contracts/artifacts/identification';
import {
  type CompetingRouter,
  type RouterChoice,
  routerChoiceSchema,
  routerSchema,
} from '../../../contracts/artifacts/router';
import { trajectorySchema } from '../../../contracts/artifacts/trajectory';
import type { ChooseRouterInput, ChooseRouterResult } from '../../../contracts/messages/evaluate-stage';
import { layout, putJson, storedLines } from '../../../store';
import { readPreparedSpec } from '../../prepared-spec';
import type { RolloutDeps } from '../../rollout/rollout-deps';
import { askMenu } from '../ask-menu';
import { RouterFits } from './decisions';
import { labelledTasks } from './routing-task';
import { RouterCompetition } from './router-competition';
import { withHeartbeats } from './with-heartbeats';

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
    const kinds = pinned === 'auto' ? null : input.mixed ? pinned : (WITHOUT_MIXED[pinned] ?? pinned);
    if (kinds === null || kinds === 'logits') {
      const openings = new Map(labelled.tasks.map(({ seed, opening }) => [seed, opening]));
      const answers = await askMenu(deps, { runId: context.runId, prepared, capabilities, openings });
      for (const task of labelled.tasks) task.answer = answers.get(task.seed) ?? null;
    }
    const fits = await withHeartbeats('fitting routers', () =>
      RouterFits.prepare(labelled, capabilities, context.seed),
    );
    const competition = new RouterCompetition(deps, { context, prepared, adapters }, labelled, fits, budget);
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

/** What a pinned kind is where the mixed adapter was left out. */
const WITHOUT_MIXED: Partial<Record<string, CompetingRouter>> = { mixed: 'base', 'outcomes-mixed': 'labels' };

/** One line for people: `router labels: +38.2 points against base on train tasks (512 tasks, 480 rollouts bought)`. */
function routerSummary({ chosen, competitors, rollouts, trainTasks }: RouterChoice): string {
  const gain = competitors.find(({ kind }) => kind === chosen)?.gain ?? 0;
  const points = `${gain < 0 ? '−' : '+'}${Math.abs(gain * 100).toFixed(1)} points`;
  return `router ${chosen}: ${points} against base on train tasks (${trainTasks} tasks, ${rollouts} rollouts bought)`;
}
