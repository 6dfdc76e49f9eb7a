import type { V1Job } from '@kubernetes/client-node';
import type { ApplicationFailure } from '@temporalio/common';
import { FAILURES } from '../../../contracts/failures/run';
import { failure } from '../../../contracts/typed-failure';
import type { Cluster } from '../../../k8s/cluster';
import type { Action } from '../../../k8s/next-action';
import { newestPod } from '../../../k8s/objects';
import type { Reason, TrainingSnapshot } from '../../../k8s/training-snapshot';
import type { Training } from '../backend';
import { DISK_RETRY } from '../trainer-failure';
import { checkpointedIterations } from '../checkpoints';
import { retryOf, trainingOf } from '../describe-training';
import { recordPackFailure } from '../packs/failure-files';
import { isShared, memberNames } from '../trainer-group';
import { recordOutcome } from './record-outcome';
import { recordRestart, resetRestarts } from '../restart-record';
import type { StatusReporter } from './status-reporter';
import { hasFailed, isRefusal, type TrainerJobClient } from './trainer-job-client';

type FailAction = Extract<Action, { kind: 'fail' }>;

/** The object of an action: a training, its Job, and their current state. */
interface ActionContext {
  cluster: Cluster;
  namespace: string;
  jobClient: TrainerJobClient;
  training: Training;
  reporter: StatusReporter;
  job: V1Job;
  snapshot: TrainingSnapshot;
  reason: Reason;
}

/**
 * Applies the decision of `nextAction`. Before it replaces or ends a Job, it records the facts that the cluster will
 * forget.
 * @returns the Job to watch from now on.
 * @throws the action's failure, Trainer.ClusterRefused, or the signal's reason when it fires.
 */
export async function applyAction(action: Action, context: ActionContext): Promise<V1Job> {
  const { cluster, namespace, jobClient, training, snapshot, reason, job } = context;
  const { directory } = training.group;
  const uid = job.metadata?.uid ?? '';
  if (action.kind === 'wait') return job;
  try {
    if (action.kind === 'force-delete-pod') {
      await cluster.deletePod(namespace, action.pod, 0);
      return job;
    }
    await recordOutcome(cluster, directory, snapshot, reason);
    if (action.kind === 'replace') {
      await recordRestart(directory, await checkpointedIterations(training.group), action.counter, uid);
      await jobClient.remove(job, training.signal);
      return await jobClient.attachOrCreate(context.reporter, training.signal);
    }
    await giveUp(failureOf(action, context), action, context);
  } catch (error) {
    if (isRefusal(error))
      throw failure('Trainer.ClusterRefused', `Kubernetes refused: ${error.message}`, { cause: error });
    if (training.signal.aborted) throw error;
    // The API did not answer, so the next check decides again. A failure is thrown in any case.
    if (action.kind !== 'fail') return job;
  }
  throw failureOf(action, context);
}

/**
 * Ends the trainer. For a pack it first records the failure, so that all members fail with it. If only this training's
 * own time limit has passed, the trainer continues for the others.
 */
async function giveUp(
  { message }: ApplicationFailure,
  { type }: FailAction,
  { jobClient, training, reason, job }: ActionContext,
): Promise<void> {
  const { group, signal } = training;
  if (isShared(group)) {
    if (isOwnFailure(reason)) return;
    // After a retryable failure the trainer is not given up: the next attempt starts it again.
    if (!FAILURES[type].retryable) await recordPackFailure(group, { type, message });
  } else {
    // The next attempt is a person's decision, so its restarts are counted from 0. A pack's next attempt is in another
    // folder with new counts.
    await resetRestarts(group.directory);
  }
  if (!hasFailed(job)) await jobClient.remove(job, signal);
}

function failureOf(
  { type, message }: FailAction,
  { jobClient, training, snapshot, reason }: ActionContext,
): ApplicationFailure {
  const { group } = training;
  const isTrainers = isShared(group) && !isOwnFailure(reason);
  const what = isTrainers ? `The trainer shared by ${memberNames(group)}` : trainingOf(training);
  const { retryable } = FAILURES[type];
  const ended = retryable ? 'ended' : 'was given up';
  const next = retryable
    ? `It is started again${training.kind === 'trial' ? '' : ' from its last checkpoint'}.`
    : `${retryOf(training)}, once the cause is gone.`;
  const pod = newestPod(snapshot.pods)?.metadata?.name;
  const job = pod === undefined ? jobClient.fullName : `${jobClient.fullName}, pod ${pod}`;
  const files = `log, events and outcome are in ${group.directory}/cluster`;
  return failure(
    type,
    `${what} ${ended} (${reason.kind}): ${message.replace(/[.\s]+$/, '')}. ${next} Its Job is ${job}; ${files}.`,
    type === 'Trainer.DiskFull' ? { nextRetryDelay: DISK_RETRY } : {},
  );
}

/** Whether one training failed but not its trainer: the trainer runs well, but the training's time limit has passed. */
const isOwnFailure = ({ kind }: Reason): boolean => kind === 'Training';
