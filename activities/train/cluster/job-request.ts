import { chown } from 'node:fs/promises';
import type { KubernetesSpec } from '../../../contracts/config/kubernetes-spec';
import type { JobRequest } from '../../../k8s/job-manifest';
import { failure } from '../../../contracts/typed-failure';
import type { Training } from '../backend';
import { groupJobName, memberNames, isShared, remainingMembers } from '../trainer-group';

/** Section `training.kubernetes` of agent.yaml. Throws Spec.Invalid when it is missing. */
export function kubernetesSpecOf({ prepared }: Pick<Training, 'prepared'>): KubernetesSpec {
  const spec = prepared.spec.training.kubernetes;
  if (spec === undefined) throw failure('Spec.Invalid', 'training.kubernetes is missing in agent.yaml.');
  return spec;
}

/**
 * Describes the Job for the remaining members of a training's group.
 * @throws Trainer.Died if no member remains; the next attempt reads why.
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
    throw failure('Trainer.Died', `No training needs the trainer of ${memberNames(group)} any more.`);
  return {
    spec,
    name: groupJobName(group),
    runId: input.context.runId,
    agent: input.context.agent,
    pack: isShared(group) ? group.members.length : null,
    directoryKey: group.directoryKey,
    members,
    storeRoot,
    baseModel: planned.job.baseModel,
    threads: planned.job.threads,
    // Worker and pod write to the same directory, so they must be the same user unless the worker is root.
    user: uid === 0 ? { uid: spec.runAsUser, gid: spec.runAsUser } : { uid, gid: process.getgid?.() ?? uid },
    reportUrl,
  };
}

/** Lets the pod's user write to the members' directories. Only a root worker has to change their owner. */
export async function giveDirectoriesToPod({ user, members }: JobRequest): Promise<void> {
  if (process.getuid?.() !== 0) return;
  for (const { directory } of members) await chown(directory, user.uid, user.gid);
}
