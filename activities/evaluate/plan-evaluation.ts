import { Context } from '@temporalio/activity';
import { evaluationPlanSchema, type EvaluationPlan } from '../../contracts/artifacts/evaluation-plan';
import type { PreparedSpec } from '../../contracts/artifacts/prepared-spec';
import type { Registry, RegistryVersion } from '../../contracts/artifacts/registry';
import { type CompetitionRouter, routerSchema } from '../../contracts/artifacts/router';
import { type Trajectory, trajectorySchema } from '../../contracts/artifacts/trajectory';
import type {
  IncumbentVersion,
  PlanEvaluationInput,
  PlanEvaluationResult,
} from '../../contracts/messages/evaluate-stage';
import { routerOfVersion } from '../../contracts/routing/version-router';
import { minimumDetectableGain, observedSpread, POWER } from '../../contracts/statistics/minimum-detectable-gain';
import { type ArtifactStore, getJson, layout, putJson, readRegistry, storedLines } from '../../store';
import { startProgress } from '../progress';
import { readPreparedSpec } from '../prepared-spec';

/**
 * Makes the activity `planEvaluation`: freezes the version that is active now, which the candidate has to beat, and
 * states the smallest gain that the evaluation can prove, before any held-out task is played.
 */
export function createPlanEvaluation(
  store: ArtifactStore,
): (input: PlanEvaluationInput) => Promise<PlanEvaluationResult> {
  return async ({ context: { runId, agent, spec }, trajectories }) => {
    const { heartbeat } = Context.current();
    const progress = startProgress({ stage: 'evaluate', unit: 'plans', total: 1, heartbeat, note: 'reading base' });
    try {
      const prepared = await readPreparedSpec(store, spec);
      const registry = await readRegistry(store, agent);
      const found = incumbentOf(registry, prepared);
      const passes = await passesByTask(await storedLines(store, trajectorySchema)(trajectories));
      const { trials, confidence } = prepared.spec.evaluation;
      const tasks = prepared.spec.environment.heldOutSeeds.count;
      const { passRate, withinTask } = observedSpread(passes);
      const { canary } = registry;
      const plan: EvaluationPlan = {
        tasks,
        trials,
        basePassRate: passRate,
        minimumDetectableGain: minimumDetectableGain({ tasks, trials, confidence, withinTask }),
        power: POWER,
        active: registry.active,
        noIncumbent: typeof found === 'string' ? found : null,
        canary: canary === undefined ? null : { version: canary.version, share: canary.share },
      };
      const folder = layout.evaluation(runId);
      return {
        plan: await putJson(store, folder, 'evaluation-plan.json', evaluationPlanSchema.parse(plan)),
        incumbent: typeof found === 'string' ? null : await served(store, folder, found),
        summary: planSummary(plan),
      };
    } finally {
      progress.stop();
    }
  };
}

/** The version that is served now; or, in a sentence, why there is none to compare with. */
function incumbentOf({ active, versions }: Registry, { baseModelSha256 }: PreparedSpec): RegistryVersion | string {
  if (active === null) return 'No version is active: the base model gets every conversation.';
  const version = versions.find((candidate) => candidate.version === active);
  if (version === undefined) return `Version ${active} is active, but the registry has lost it.`;
  if (version.adapters.length === 0)
    return `The active version ${active} has no adapters: the base model gets every conversation.`;
  if (version.baseModelSha256 !== baseModelSha256)
    return (
      `The active version ${active} was trained on another base model (${version.baseModelSha256.slice(0, 12)}, ` +
      `this run has ${baseModelSha256.slice(0, 12)}): its adapters do not fit, so it cannot be compared.`
    );
  return version;
}

async function served(store: ArtifactStore, folder: string, version: RegistryVersion): Promise<IncumbentVersion> {
  const read = (artifact: Parameters<typeof getJson>[1]): Promise<CompetitionRouter> =>
    getJson(store, artifact, routerSchema);
  // Older versions have no `router.json` of their own.
  const router =
    version.judgedRouter?.artifact ??
    (await putJson(store, folder, 'incumbent-router.json', await routerOfVersion(version, read)));
  return {
    version: version.version,
    runId: version.runId,
    adapters: version.adapters.map(({ name, capabilityId, key, sha256 }) => ({ name, capabilityId, key, sha256 })),
    capabilities: version.adapters.map(({ capabilityId: id, summary }) => ({ id, name: id, summary })),
    router,
  };
}

/** Passes (1) and failures (0) of the base model on each train task. */
async function passesByTask(trajectories: AsyncIterable<Trajectory>): Promise<number[][]> {
  const passes = new Map<number, number[]>();
  for await (const { task, success } of trajectories)
    if (task.split === 'train') passes.set(task.seed, [...(passes.get(task.seed) ?? []), success ? 1 : 0]);
  return [...passes.values()];
}

/** One line for people: `against version 1; a gain of 4.2 points or more can be proved`. */
function planSummary({ active, noIncumbent, minimumDetectableGain: gain }: EvaluationPlan): string {
  const rival = noIncumbent === null ? `version ${active}` : 'base';
  return `against ${rival}; a gain of ${(gain * 100).toFixed(1)} points or more can be proved`;
}
