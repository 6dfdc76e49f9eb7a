/** What each kind of router decides where it is the only one: chosen with `evaluation.router` in agent.yaml. */
import { createEvaluationRolloutActivities } from '../../activities/evaluate/roll-out-arm';
import type { RolloutDeps } from '../../activities/rollout/rollout-deps';
import type { ArtifactRef } from '../../contracts/artifacts/artifact-ref';
import { routingRecordSchema } from '../../contracts/artifacts/evaluation';
import { COMPETING_ROUTERS, type CompetingRouter, routerChoiceSchema } from '../../contracts/artifacts/router';
import { getJson, getLines, layout, type LocalStore, putJson } from '../../store';
import { runActivity } from '../identification-demo/identify-without-server';
import { adaptersOf, artifactOf, type FinishedRun } from './finished-run';

/** Kinds that give tasks to different arms. */
const ROUTING_KINDS = COMPETING_ROUTERS.filter(
  (kind) => kind === 'labels' || kind === 'neighbours' || kind === 'logits',
);

/** The decisions of one router. */
export interface RouterAlone {
  kind: CompetingRouter;
  /** Rollouts on train tasks that it bought, to see which adapters lose through it. */
  rollouts: number;
  /** Capability, or `none`, for each held-out task. */
  decisions: ReadonlyMap<number, string>;
}

/** Chooses each kind alone and asks it about the held-out tasks. */
export async function routersAlone(deps: RolloutDeps, run: FinishedRun): Promise<RouterAlone[]> {
  const { store, prepared, report, context } = run;
  const { chooseRouter, routeTasks } = createEvaluationRolloutActivities(deps);
  const { adapters } = adaptersOf(report);
  const trained = new Set(adapters.map(({ capabilityId }) => capabilityId));
  const capabilities = report.sharpened.map(({ capability }) => capability).filter(({ id }) => trained.has(id));
  const routers: RouterAlone[] = [];
  for (const kind of ROUTING_KINDS) {
    const { spec } = prepared;
    const pinned = { ...prepared, spec: { ...spec, evaluation: { ...spec.evaluation, router: kind } } };
    const own = { ...context, spec: await putJson(store, layout.run(context.runId), `bench-${kind}.json`, pinned) };
    const { router, choice } = await runActivity(chooseRouter, {
      context: own,
      adapters,
      capabilities,
      trajectories: artifactOf(report, 'trajectories of the base agent on train tasks'),
      labels: artifactOf(report, 'labels'),
    });
    const { routing } = await runActivity(routeTasks, { context: own, capabilities, router });
    const { rollouts } = await getJson(store, choice, routerChoiceSchema);
    routers.push({ kind, rollouts, decisions: await decisionsOf(store, routing) });
  }
  return routers;
}

/** The decisions in an artifact of them. */
export async function decisionsOf(store: LocalStore, routing: ArtifactRef): Promise<ReadonlyMap<number, string>> {
  const records = await getLines(store, routing, routingRecordSchema);
  return new Map(records.map(({ seed, capabilityId }) => [seed, capabilityId]));
}
