import { type NightPlan, nightPlanSchema, type Nights } from '../../contracts/artifacts/night';
import type { PreparedSpec } from '../../contracts/artifacts/prepared-spec';
import type { Registry, RegistryVersion } from '../../contracts/artifacts/registry';
import type { NightPlanResult } from '../../contracts/messages/night-stage';
import type { RunContext } from '../../contracts/messages/run-context';
import { type ArtifactStore, changeNights, layout, putJson, readRegistry } from '../../store';
import { activeVersion, playableVersion } from '../active-version';
import { readPreparedSpec } from '../prepared-spec';
import { nightContent } from './night-content';
import { isWatched } from './drift';
import { nightTasks, playsEveryTask } from './night-tasks';
import { rebuildCost } from './rebuild-cost';

/**
 * Activity: decides how a run begins, numbers a measuring night, and estimates the cost of a
 * changed base model. A run has one place in the agent's nights, even if this is executed repeatedly.
 */
export async function planNight(store: ArtifactStore, { runId, agent, spec }: RunContext): Promise<NightPlanResult> {
  const prepared = await readPreparedSpec(store, spec);
  const registry = await readRegistry(store, agent);
  const version = activeVersion(registry, prepared);
  const content = nightContent(prepared);
  const measures = typeof version !== 'string';
  const { nights } = await changeNights(store, agent, (before) =>
    withNight(before, runId, { version: measures ? version.version : 0, content }),
  );
  const place = nights.findIndex((one) => one.runId === runId);
  const night = nights[place]?.night ?? 0;
  const before = nights.slice(0, Math.max(0, place));
  const portion = measures ? portionOf(before, version.version, content) : USUAL;
  const { environment, collect } = prepared.spec;
  const { trainSeeds } = environment;
  const seeds = measures ? nightTasks(trainSeeds, collect.trials, Math.max(1, night), portion.blocks) : [];
  const live = Math.min(collect.live.most, tasksOf(seeds));
  const outdated = misfit(registry, prepared);
  const remaking = outdated && (await rebuildCost(store, agent, prepared, outdated));
  const plan: NightPlan = {
    night,
    active: registry.active,
    measures,
    why: measures
      ? measured(version.version, night, {
          tasks: tasksOf(seeds),
          live,
          why: playsEveryTask(trainSeeds, collect.trials) ? null : portion.why,
        })
      : version,
    seeds,
    ...(live > 0 && { live }),
    content,
    invalid: { environments: 0, calibrations: remaking?.calibrations ?? 0, adapters: remaking?.adapters ?? 0 },
    ...(remaking && { remaking }),
  };
  const folder = layout.night(runId);
  return {
    plan: await putJson(store, folder, 'night-plan.json', nightPlanSchema.parse(plan)),
    summary: plan.why,
    ...(remaking && { remaking: remaking.sentence }),
    measure: measures
      ? {
          version: playableVersion(version),
          seeds,
          night,
          ...(live > 0 && { live }),
        }
      : null,
  };
}

/**
 * The nights with an entry for a run. A run keeps its entry and number. If another version became active before the
 * plan was written, the night belongs to that version.
 */
function withNight(before: Nights, runId: string, planned: Pick<Night, 'version' | 'content'>): Nights {
  const next = planned.version === 0 ? 0 : 1 + Math.max(0, ...before.nights.map(({ night }) => night));
  const own = before.nights.find((night) => night.runId === runId);
  if (own === undefined) {
    const night = { runId, night: next, ...planned, outcome: null, reasons: [], worked: false };
    return { ...before, nights: [...before.nights, night] };
  }
  if (own.version === planned.version || own.outcome !== null || own.worked) return before;
  const changed = { ...own, version: planned.version, night: own.night === 0 ? next : own.night };
  return { ...before, nights: before.nights.map((night) => (night === own ? changed : night)) };
}

type Night = Nights['nights'][number];

/** How many blocks of tasks a night plays, and why more than one. */
interface Portion {
  blocks: number;
  why: string | null;
}

const USUAL: Portion = { blocks: 1, why: null };

/** A drift is looked at more closely. A changed environment may have new needs, which few tasks would not show. */
function portionOf(before: readonly Night[], version: number, content: NightPlan['content']): Portion {
  const ended = before.filter(({ outcome, worked }) => outcome !== null || worked);
  if (ended.length > 0 && ended.every((night) => night.content.environment !== content.environment))
    return { blocks: 4, why: "the agent's environment has changed" };
  return isWatched(before, version, content) ? { blocks: 2, why: 'something drifts' } : USUAL;
}

const tasksOf = (seeds: NightPlan['seeds']): number => seeds.reduce((sum, { count }) => sum + count, 0);

function measured(
  version: number,
  night: number,
  { tasks, live, why }: { tasks: number; live: number; why: string | null },
): string {
  const reason = why === null ? '' : ` (more than usual, because ${why})`;
  const traffic = live > 0 ? ` and identifies with at most ${live} conversations that it answered, too` : '';
  return `Night ${night} measures version ${version} and base on ${tasks} train tasks${reason}${traffic}.`;
}

/** The active version, if any of its adapters was trained on another base model than today's. */
function misfit({ active, versions }: Registry, { baseModelSha256 }: PreparedSpec): RegistryVersion | null {
  const version = versions.find((one) => one.version === active);
  return version && version.adapters.length > 0 && version.baseModelSha256 !== baseModelSha256 ? version : null;
}
