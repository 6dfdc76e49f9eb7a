import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { eventTime, trainerStatus } from '../../../k8s/objects';
import { exitCode } from '../../../k8s/pod-termination';
import type { Reason, TrainingSnapshot } from '../../../k8s/training-snapshot';
import type { Cluster } from '../../../k8s/cluster';
import { replaceFile } from '../../../store';

/** Largest number of bytes that are kept of each pod's log. */
const MAX_LOG_BYTES = 1 << 20;

/**
 * Saves facts that the cluster will forget in the folder `cluster/` of the trainer group's directory: the log of each
 * pod, and conditions, pods and events of the Job. Called before a Job is deleted or left to its TTL.
 */
export async function recordOutcome(
  cluster: Cluster,
  directory: string,
  snapshot: TrainingSnapshot,
  reason: Reason,
): Promise<void> {
  const { job, pods, events } = snapshot;
  if (job === null) return;
  const folder = join(directory, 'cluster');
  await mkdir(folder, { recursive: true });
  const namespace = job.metadata?.namespace ?? '';
  for (const pod of pods) {
    const name = pod.metadata?.name ?? '';
    const log = await cluster.podLog(namespace, name, MAX_LOG_BYTES);
    if (log !== null && log !== '') await replaceFile(join(folder, `${name}.log`), log);
  }
  const outcome = {
    job: `${namespace}/${job.metadata?.name}`,
    uid: job.metadata?.uid,
    reason,
    conditions: job.status?.conditions ?? [],
    pods: pods.map((pod) => ({
      name: pod.metadata?.name,
      node: pod.spec?.nodeName ?? null,
      phase: pod.status?.phase,
      exitCode: exitCode(pod),
      conditions: pod.status?.conditions ?? [],
      container: trainerStatus(pod)?.state ?? null,
    })),
    events: [...events]
      .sort((a, b) => eventTime(a) - eventTime(b))
      .map((event) => ({
        at: new Date(eventTime(event)).toISOString(),
        about: `${event.involvedObject.kind}/${event.involvedObject.name}`,
        type: event.type,
        reason: event.reason,
        message: event.message,
        count: event.count ?? 1,
      })),
  };
  await replaceFile(join(folder, `outcome-${job.metadata?.uid}.json`), `${JSON.stringify(outcome, null, 2)}\n`);
}
