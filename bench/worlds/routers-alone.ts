/** What each kind of router decides where it is the only one: chosen with `evaluation.router` in agent.yaml. */
import { createEvaluationRolloutActivities } from '../../activities/evaluate/roll-out-arm';
import type { RolloutDeps } from '../../activities/rollout/rollout-deps';
import type { ArtifactRef } from '../../contracts/artifacts/artifact-ref';
import { routingRecordSchema } from '../../contracts/artifacts/evaluation';
import {
  COMPETING_ROUTERS,
  type CompetingRouter,
  type CompetitionRouter,
  type RouterChoice,
  routerChoiceSchema,
  routerSchema,
} from '../../contracts/artifacts/router';
import { MIXED } from '../../contracts/names';
import type { CapabilityBrief } from '../../contracts/messages/run-context';
import { getJson, getLines, layout, type LocalStore, putJson } from '../../store';
import { runActivity } from '../shared/identify-without-server';
import { adaptersOf, artifactOf, type FinishedRun } from './finished-run';

/** Kinds that give tasks to different arms. */
const ROUTING_KINDS = COMPETING_ROUTERS.filter((kind) => kind !== 'base' && kind !== 'mixed');

/** Which arm gets each held-out task. */
export type ArmOfSeed = ReadonlyMap<number, string>;

/** One router, chosen alone. */
export interface RouterAlone {
  kind: (typeof ROUTING_KINDS)[number];
  /** As it would be served, with what follows openings. */
  router: CompetitionRouter;
  choice: RouterChoice;
  /** By openings alone: no conversation moves, and none begins with the first of two needs. */
  decisions: ArmOfSeed;
}

/** Chooses each kind alone and asks it about the held-out tasks. */
export async function routersAlone(deps: RolloutDeps, run: FinishedRun): Promise<RouterAlone[]> {
  const withMixed = adaptersOf(run.report).mixed.length > 0;
  const routers: RouterAlone[] = [];
  for (const kind of ROUTING_KINDS.filter((one) => withMixed || one !== 'outcomes-mixed')) {
    const { router, choice } = await chooseAgain(deps, run, kind);
    routers.push({ kind, router, choice, decisions: await decide(deps, run, openingsOnly(router)) });
  }
  return routers;
}

/** Lets the kinds compete again, or takes one of them, with what the run trained. */
export async function chooseAgain(
  deps: RolloutDeps,
  run: FinishedRun,
  kind: CompetingRouter | 'auto',
): Promise<{ router: CompetitionRouter; choice: RouterChoice }> {
  const { store, prepared, report, context } = run;
  const { chooseRouter } = createEvaluationRolloutActivities(deps);
  const { adapters, mixed } = adaptersOf(report);
  const { evaluation } = prepared.spec;
  const pinned = { ...prepared, spec: { ...prepared.spec, evaluation: { ...evaluation, router: kind } } };
  const spec = await putJson(store, layout.run(context.runId), `bench-${kind}.json`, pinned);
  // What it buys must not be taken for what the run bought.
  const own = { ...context, runId: `${context.runId}-${kind === 'auto' ? 'again' : `${kind}-alone`}`, spec };
  const chosen = await runActivity(chooseRouter, {
    context: own,
    adapters,
    ...(mixed[0] && { mixed: mixed[0] }),
    capabilities: capabilitiesOf(run),
    trajectories: artifactOf(report, 'trajectories of the base agent on train tasks'),
    labels: artifactOf(report, 'labels'),
  });
  return {
    router: await getJson(store, chosen.router, routerSchema),
    choice: await getJson(store, chosen.choice, routerChoiceSchema),
  };
}

/** A router without what follows its choice for an opening. */
export function openingsOnly(router: CompetitionRouter): CompetitionRouter {
  if (router.kind === 'base' || router.kind === 'mixed') return router;
  const { laterTurns: _moves, severalNeeds: _mixed, ...rest } = router;
  return rest;
}

/** Asks a router about the held-out tasks. */
export async function decide(deps: RolloutDeps, run: FinishedRun, router: CompetitionRouter): Promise<ArmOfSeed> {
  const { store, context } = run;
  const { routeTasks } = createEvaluationRolloutActivities(deps);
  const mixed = adaptersOf(run.report).mixed.map(() => ({ id: MIXED, name: MIXED, summary: MIXED }));
  const { routing } = await runActivity(routeTasks, {
    context,
    capabilities: [...capabilitiesOf(run), ...mixed],
    router: await putJson(store, layout.evaluation(context.runId), 'bench-router.json', router),
    name: 'bench-routing',
  });
  return decisionsOf(store, routing);
}

/** The capabilities that have an adapter of their own. */
function capabilitiesOf({ report }: FinishedRun): CapabilityBrief[] {
  const trained = new Set(adaptersOf(report).adapters.map(({ capabilityId }) => capabilityId));
  return report.sharpened.map(({ capability }) => capability).filter(({ id }) => trained.has(id));
}

/** The decisions in an artifact of them. */
export async function decisionsOf(store: LocalStore, routing: ArtifactRef): Promise<ArmOfSeed> {
  const records = await getLines(store, routing, routingRecordSchema);
  return new Map(records.map(({ seed, capabilityId }) => [seed, capabilityId]));
}
