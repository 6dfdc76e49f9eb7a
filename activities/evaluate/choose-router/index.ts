import { consensusLabelSchema } from '../../../contracts/artifacts/identification';
import { boughtRollouts, type RouterChoice, routerChoiceSchema } from '../../../contracts/artifacts/router-choice';
import { trajectorySchema } from '../../../contracts/artifacts/trajectory';
import { failedCount, failedText } from '../../../contracts/failed-episodes';
import type { ChooseRouterInput, ChooseRouterResult } from '../../../contracts/messages/evaluate-stage';
import { layout, putJson, storedLines } from '../../../store';
import { pointsWithUnit } from '../../html/format';
import { readPreparedSpec } from '../../prepared-spec';
import type { RolloutDeps } from '../../rollout/rollout-deps';
import { askMenu } from '../ask-menu';
import { holdCompetition, settingOf } from './hold-competition';
import { playersOf } from './play-arms';
import { readLabelledTasks } from './read-labelled-tasks';
import { resultOf } from './result';
import { withHeartbeats } from './with-heartbeats';
import type { RouterKind } from '../../../contracts/config/router-kinds';
import { chooseRidge, taskOrder } from '../../../routing/fit/fit-needs';
import { KINDS, routerSchema } from '../../../routing/kinds';

/**
 * Activity: lets the kinds of routers compete on the train tasks, and writes the winner
 * (docs/adr/0015). The same input gives the same router.
 */
export async function chooseRouter(deps: RolloutDeps, input: ChooseRouterInput): Promise<ChooseRouterResult> {
  const { store } = deps;
  const { context, capabilities, mixed } = input;
  const { seed } = context;
  const adapters = [...input.adapters, ...(mixed ? [mixed] : [])];
  const ids = capabilities.map(({ id }) => id);
  const prepared = await readPreparedSpec(store, context.spec);
  const { router, routingRollouts: budget } = prepared.spec.evaluation;
  const pinned = router === 'auto' ? null : mixed ? router : withoutMixed(router);
  const labelled = await withHeartbeats('reading the labelled tasks', async () =>
    readLabelledTasks(
      await storedLines(store, trajectorySchema)(input.trajectories),
      await storedLines(store, consensusLabelSchema)(input.labels),
      ids,
    ),
  );
  const { tasks, live } = labelled;
  if (pinned === null || 'menu' in KINDS[pinned]) {
    const openings = new Map(tasks.map((task) => [task.seed, task.opening]));
    const answers = await askMenu(deps, { runId: context.runId, prepared, capabilities, openings });
    for (const task of tasks) task.answer = answers.get(task.seed) ?? null;
  }
  const play = playersOf(deps, { context, prepared, adapters });
  const setting = await settingOf(
    {
      labelled,
      order: taskOrder(tasks.length, seed),
      capabilities,
      ids,
      playsMixed: mixed !== undefined && (pinned === null || pinned === 'outcomes-mixed'),
      ridge: await withHeartbeats('fitting routers', () => chooseRidge([...tasks, ...live], ids, seed)),
      pinned,
      lossMargin: prepared.spec.gate.lossMargin,
      seed,
      play,
    },
    budget,
  );
  const state = await holdCompetition(setting);
  const chosen = await resultOf(setting, state);
  const folder = layout.evaluation(context.runId);
  const failed = play.failed();
  const choice = { ...chosen.choice, ...(failedCount(failed) > 0 && { failed }) };
  return {
    router: await putJson(store, folder, 'router.json', routerSchema.parse(chosen.router)),
    choice: await putJson(store, folder, 'router-choice.json', routerChoiceSchema.parse(choice)),
    kind: chosen.choice.chosen,
    ...(chosen.choice.toolResults?.adopted && { followsTools: true }),
    summary: routerSummary(choice),
  };
}

/** The kind that replaces a pinned one if the pinned one needs the mixed adapter and that was left out. */
function withoutMixed(pinned: RouterKind): RouterKind {
  const { needs, choosesArms } = KINDS[pinned];
  return needs.mixed ? (choosesArms ? 'labels' : 'base') : pinned;
}

/** One line for people: `router labels: +38.2 points against base on train tasks (512 tasks, 480 rollouts bought)`. */
function routerSummary(choice: RouterChoice): string {
  const { chosen, competitors, trainTasks, failed } = choice;
  const lost = failed ? `, ${failedText(failed)}` : '';
  const gain = competitors.find(({ kind }) => kind === chosen)?.gain ?? 0;
  return `router ${chosen}: ${pointsWithUnit(gain)} against base on train tasks (${trainTasks} tasks, ${boughtRollouts(choice)} rollouts bought${lost})`;
}
