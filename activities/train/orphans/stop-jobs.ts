import { trainerArguments } from '../../../k8s/objects';
import { join } from 'node:path';
import type { V1Job } from '@kubernetes/client-node';
import type { Cluster } from '../../../k8s/cluster';
import { ANNOTATIONS } from '../../../k8s/names';
import { isOver } from '../cluster/trainer-job-client';
import { exists } from '../files';
import { directoriesOf, isOrphan, runOfKey } from './is-orphan';
import { usedNamespaces } from './namespaces';
import type { ReadRunStatus } from './run-over';

/**
 * Deletes the Jobs of trainers whose run has ended, including queued Jobs, in every namespace in which this store has
 * had trainings. Each trainer saves a checkpoint within its grace period. Jobs of other stores are not touched. The
 * cluster is opened only if there are such namespaces.
 * @returns the runs whose Jobs were deleted.
 * @throws if Temporal or the cluster does not answer.
 */
export async function stopOrphanJobs(
  storeRoot: string,
  openCluster: () => Promise<Cluster>,
  readStatus: ReadRunStatus,
): Promise<string[]> {
  const namespaces = await usedNamespaces(storeRoot);
  if (namespaces.length === 0) return [];
  const cluster = await openCluster();
  const stopped = new Set<string>();
  const failures: unknown[] = [];
  const sweep = async (namespace: string) => {
    for (const job of await cluster.listJobs(namespace)) {
      const runId = await runOf(job, storeRoot);
      const directories = directoriesOf(trainerArguments(job));
      if (runId === null || !(await isOrphan(runId, directories, readStatus))) continue;
      await cluster.deleteJob(namespace, job.metadata?.name ?? '', job.metadata?.uid ?? '');
      stopped.add(runId);
    }
  };
  // If one namespace is no longer accessible to this worker, the others must still be swept.
  for (const namespace of namespaces) await sweep(namespace).catch((error: unknown) => void failures.push(error));
  if (failures.length > 0) throw failures[0];
  return [...stopped];
}

/** The run of a Job that has not ended and was made for this store; null for any other Job. */
async function runOf(job: V1Job, storeRoot: string): Promise<string | null> {
  if (isOver(job) || job.metadata?.deletionTimestamp !== undefined) return null;
  const key = job.metadata?.annotations?.[ANNOTATIONS.directory] ?? '';
  const runId = runOfKey(key);
  // Another store may be mounted at the same path elsewhere, but only this store has the directory.
  return runId !== null && (await exists(join(storeRoot, key))) ? runId : null;
}
