import { chown } from 'node:fs/promises';
import type { KubernetesSpec } from '../../../contracts/config/kubernetes-spec';
import type { JobRequest } from '../../../k8s/job-manifest';
import { failure } from '../../../contracts/typed-failure';
import type { Training } from '../backend';
import { groupJobName, memberNames, isShared, remainingMembers } from '../trainer-group';

/** The section of agent.yaml. Throws Spec.Invalid without `training.kubernetes`. */
export function kubernetesSpecOf({ prepared }: Pick<Training, 'prepared'>): KubernetesSpec {
  const spec = prepared.spec.training.kubernetes;
  if (spec === undefined) throw failure('Spec.Invalid', 'training.kubernetes is missing in agent.yaml.');
  return spec;
}

/**
 * What the group of a training asks of the cluster: a Job for those who need it still.
 * @throws Trainer.Died when nobody does: the next attempt finds out why.
 */
export async function buildJobRequest(
  { input, prepared, planned, group }: Training,
  storeRoot: string,
  reportUrl: string | null,
): Promise<JobRequest> {
  const spec = kubernetesSpecOf({ prepared });
  const uid = process.getuid?.() ?? 0;
  const members = await remainingMembers(group);
  if (members.length === 0)
    throw failure('Trainer.Died', `Nobody needs the trainer of ${memberNames(group)} any more.`);
  return {
    spec,
    name: groupJobName(group),
    runId: input.context.runId,
    agent: input.context.agent,
    pack: isShared(group) ? group.members.length : null,
    directoryKey: group.directoryKey,
    members,
    storeRoot,
    threads: planned.job.threads,
    // Both sides write the directory, so they are one user unless the worker may write everywhere.
    user: uid === 0 ? { uid: spec.runAsUser, gid: spec.runAsUser } : { uid, gid: process.getgid?.() ?? uid },
    reportUrl,
  };
}

/** The worker makes the directories, the pod writes into them. */
export async function giveToPodUser({ user, members }: JobRequest): Promise<void> {
  if (process.getuid?.() !== 0) return;
  for (const { directory } of members) await chown(directory, user.uid, user.gid);
}
