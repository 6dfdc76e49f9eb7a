import type { V1Job } from '@kubernetes/client-node';
import type { ApplicationFailure } from '@temporalio/common';
import { FAILURES } from '../../../contracts/failures/run';
import type { Action } from '../../../k8s/next-action';
import { newestPod } from '../../../k8s/objects';
import type { Reason, TrainingSnapshot } from '../../../k8s/training-snapshot';
import type { Cluster } from '../../../k8s/cluster';
import { failure } from '../../../contracts/typed-failure';
import type { Training } from '../backend';
import { memberNames, isShared } from '../trainer-group';
import { recordPackFailure } from '../packs/pack-failure';
import { hasFailed, isRefusal, type TrainerJobClient } from './trainer-job-client';
import { resetRestarts, recordRestart } from './restart-record';
import { recordOutcome } from './record-outcome';
import type { StatusReporter } from './status-reporter';

type Failing = Extract<Action, { act: 'fail' }>;

/** A training on its cluster at one moment. */
export interface ActionContext {
  cluster: Cluster;
  namespace: string;
  keeper: TrainerJobClient;
  training: Training;
  story: StatusReporter;
  job: V1Job;
  view: TrainingSnapshot;
  reason: Reason;
}

/**
 * Does what `nextAction` decided, after what the cluster would forget has been recorded. Returns the Job to watch from
 * now on.
 * @throws the step's failure, Trainer.ClusterRefused, or the signal's reason when it is aborted.
 */
export async function applyAction(step: Action, at: ActionContext): Promise<V1Job> {
  const { cluster, namespace, keeper, training, view, reason, job } = at;
  const { directory } = training.group;
  const uid = job.metadata?.uid ?? '';
  if (step.act === 'wait') return job;
  try {
    if (step.act === 'forget-pod') {
      await cluster.deletePod(namespace, step.pod, 0);
      return job;
    }
    await recordOutcome(cluster, directory, view, reason);
    if (step.act === 'replace') {
      await recordRestart(directory, uid, step.counts);
      await keeper.remove(job, training.signal);
      return await keeper.attach(at.story, training.signal);
    }
    await giveUp(failureOf(step, at), step, at);
  } catch (error) {
    if (isRefusal(error))
      throw failure('Trainer.ClusterRefused', `Kubernetes refused: ${error.message}`, { cause: error });
    if (training.signal.aborted) throw error;
    if (step.act !== 'fail') return job;
  }
  throw failureOf(step, at);
}

/** Ends the trainer, and leaves word for those who share it; a training that took too long itself leaves it to them. */
async function giveUp(
  { message }: ApplicationFailure,
  { type }: Failing,
  { keeper, training, reason, job }: ActionContext,
): Promise<void> {
  const { group, signal } = training;
  if (isShared(group)) {
    if (isOwnFault(reason)) return;
    // Died is no verdict: the next attempt starts it again.
    if (!FAILURES[type].retryable) await recordPackFailure(group, { type, message });
  } else {
    // The next attempt is a person's decision, so it begins with fresh patience; that of a pack begins in another
    // folder.
    await resetRestarts(group.directory);
  }
  if (!hasFailed(job)) await keeper.remove(job, signal);
}

function failureOf({ type, because }: Failing, { keeper, training, view, reason }: ActionContext): ApplicationFailure {
  const { group, input } = training;
  const what =
    isShared(group) && !isOwnFault(reason)
      ? `The trainer shared by ${memberNames(group)}`
      : `The training of ${input.job}`;
  const pod = newestPod(view.pods)?.metadata?.name;
  return failure(
    type,
    `${what} ${type === 'Trainer.Died' ? 'ended' : 'was given up'} (${reason.kind}): ${because} Its Job is ${keeper.place}${pod === undefined ? '' : `, pod ${pod}`}; log, events and outcome are in ${group.directory}/cluster.`,
  );
}

/** While the trainer is well, what fails is one training: its own time is over. */
const isOwnFault = ({ kind }: Reason): boolean => kind === 'Training';
