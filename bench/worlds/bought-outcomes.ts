/** The rollouts on train tasks that a run's competition of routers bought, and those of the base model. */
import { readdirSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { z } from 'zod';
import { labelledTasks, type RoutingTask } from '../../activities/evaluate/choose-router/routing-task';
import { KnownOutcomes } from '../../activities/evaluate/choose-router/known-outcomes';
import { consensusLabelSchema } from '../../contracts/artifacts/identification';
import { trajectorySchema } from '../../contracts/artifacts/trajectory';
import { layout, readSegment, storedLines } from '../../store';
import { adaptersOf, artifactOf, type FinishedRun } from './finished-run';

const episodeSchema = z.object({ trajectory: trajectorySchema });

/** Train tasks with labels, and what is known of every arm on them. */
export interface BoughtOutcomes {
  tasks: RoutingTask[];
  known: KnownOutcomes;
  /** Rollouts of each adapter among what is known, the mixed one among them where there is one. */
  rollouts: ReadonlyMap<string, number>;
}

/** Reads them from the work files of the run. */
export async function boughtOutcomes({ store, report, context }: FinishedRun): Promise<BoughtOutcomes> {
  const { adapters, mixed } = adaptersOf(report);
  const { tasks } = await labelledTasks(
    await storedLines(store, trajectorySchema)(artifactOf(report, 'trajectories of the base agent on train tasks')),
    await storedLines(store, consensusLabelSchema)(artifactOf(report, 'labels')),
    adapters.map(({ capabilityId }) => capabilityId),
  );
  const known = new KnownOutcomes(tasks);
  const armOf = new Map([...adapters, ...mixed].map(({ name, capabilityId }) => [name, capabilityId]));
  const rollouts = new Map([...armOf.values()].map((arm) => [arm, 0]));
  const folder = dirname(store.localPath(layout.work(context.runId, 'routers')));
  for (const file of readdirSync(folder).filter((name) => /^routers-.*\.jsonl$/.test(name))) {
    const segment = store.segment(layout.work(context.runId, basename(file, '.jsonl')));
    for (const { trajectory } of (await readSegment(segment, episodeSchema)).values) {
      const arm = armOf.get(trajectory.model);
      if (arm === undefined) continue;
      known.add(trajectory.task.seed, arm, trajectory.success);
      rollouts.set(arm, rollouts.get(arm)! + 1);
    }
  }
  return { tasks, known, rollouts };
}
