import type { NamespaceWatch } from '../../../k8s/namespace-watch';
import { newestPod } from '../../../k8s/objects';
import { exitCode } from '../../../k8s/pod-termination';
import { systemClock } from '../../clock';
import { isOver, POLL_MS, type TrainerJobClient } from './trainer-job-client';

/** How long a trainer may take to end once its last manifest is in the store. */
const TRAINER_END_MS = 30_000;

/**
 * Deletes the Job of a finished training whose pod runs on: a cluster may add a container to every pod, such as a
 * proxy, and that container does not end with the trainer. The pod would keep its GPU. A pod of the trainer alone is
 * left to its TTL.
 * @param uid of the Job.
 */
export async function endSidecars(
  watch: Pick<NamespaceWatch, 'snapshot'>,
  jobClient: TrainerJobClient,
  uid: string,
): Promise<void> {
  const endMs = systemClock.now() + TRAINER_END_MS;
  for (; systemClock.now() < endMs; await systemClock.sleep(POLL_MS)) {
    const { job, pods } = watch.snapshot(uid);
    const pod = newestPod(pods);
    if (job === null || isOver(job) || pod === null) return;
    const containers = pod.status?.containerStatuses ?? [];
    if (pod.status?.phase !== 'Running' || containers.length < 2) return;
    const others = containers.filter(({ state }) => state?.running !== undefined);
    if (exitCode(pod) !== null && others.length > 0) return jobClient.remove(job);
  }
}
