import { chown } from 'node:fs/promises';
import type { KubernetesSpec } from '../../../contracts/config/kubernetes-spec';
import type { JobRequest } from '../../../k8s/job-manifest';
import { failure } from '../../../contracts/typed-failure';
import type { Training } from '../backend';
import { crewName, crewText, isShared, stillNeeded } from '../packs/crew';

/** The section of agent.yaml. Throws Spec.Invalid without `training.kubernetes`. */
export function clusterSpec({ prepared }: Pick<Training, 'prepared'>): KubernetesSpec {
  const spec = prepared.spec.training.kubernetes;
  if (spec === undefined) throw failure('Spec.Invalid', 'training.kubernetes is missing in agent.yaml.');
  return spec;
}

/**
 * What the crew of a training asks of the cluster: a Job for those who need it still.
 * @throws Trainer.Died when nobody does: the next attempt finds out why.
 */
export async function jobRequest(
  { input, prepared, planned, crew }: Training,
  storeRoot: string,
  reportUrl: string | null,
): Promise<JobRequest> {
  const spec = clusterSpec({ prepared });
  const uid = process.getuid?.() ?? 0;
  const members = await stillNeeded(crew);
  if (members.length === 0) throw failure('Trainer.Died', `Nobody needs the trainer of ${crewText(crew)} any more.`);
  return {
    spec,
    name: crewName(crew),
    runId: input.context.runId,
    agent: input.context.agent,
    pack: isShared(crew) ? crew.members.length : null,
    directoryKey: crew.directoryKey,
    members,
    storeRoot,
    threads: planned.job.threads,
    // Both sides write the directory, so they are one user unless the worker may write everywhere.
    user: uid === 0 ? { uid: spec.runAsUser, gid: spec.runAsUser } : { uid, gid: process.getgid?.() ?? uid },
    reportUrl,
  };
}

/** The worker makes the directories, the pod writes into them. */
export async function giveToPod({ user, members }: JobRequest): Promise<void> {
  if (process.getuid?.() !== 0) return;
  for (const { directory } of members) await chown(directory, user.uid, user.gid);
}
