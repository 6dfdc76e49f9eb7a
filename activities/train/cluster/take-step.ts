import type { V1Job } from '@kubernetes/client-node';
import type { ApplicationFailure } from '@temporalio/common';
import { FAILURES } from '../../../contracts/failures';
import type { Step } from '../../../k8s/next-step';
import { newestPod } from '../../../k8s/objects';
import type { Reason, TrainingView } from '../../../k8s/training-snapshot';
import type { Cluster } from '../../../k8s/cluster';
import { failure } from '../../../contracts/typed-failure';
import type { Training } from '../backend';
import { crewText, isShared } from '../packs/crew';
import { giveVerdict } from '../packs/verdict';
import { hasFailed, isRefusal, type JobKeeper } from './job-keeper';
import { forgetPatience, forgive } from './patience';
import { recordOutcome } from './record-outcome';
import type { TrainingStory } from './training-story';

type Failing = Extract<Step, { act: 'fail' }>;

/** A training on its cluster at one moment. */
export interface Situation {
  cluster: Cluster;
  namespace: string;
  keeper: JobKeeper;
  training: Training;
  story: TrainingStory;
  job: V1Job;
  view: TrainingView;
  reason: Reason;
}

/**
 * Does what `nextStep` decided, after what the cluster would forget has been recorded. Returns the Job to watch from
 * now on.
 * @throws the step's failure, Trainer.ClusterRefused, or the signal's reason when it is aborted.
 */
export async function takeStep(step: Step, at: Situation): Promise<V1Job> {
  const { cluster, namespace, keeper, training, view, reason, job } = at;
  const { directory } = training.crew;
  const uid = job.metadata?.uid ?? '';
  if (step.act === 'wait') return job;
  try {
    if (step.act === 'forget-pod') {
      await cluster.deletePod(namespace, step.pod, 0);
      return job;
    }
    await recordOutcome(cluster, directory, view, reason);
    if (step.act === 'replace') {
      await forgive(directory, uid, step.counts);
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
  { keeper, training, reason, job }: Situation,
): Promise<void> {
  const { crew, signal } = training;
  if (isShared(crew)) {
    if (isOwnFault(reason)) return;
    // Died is no verdict: the next attempt starts it again.
    if (!FAILURES[type].retryable) await giveVerdict(crew, { type, message });
  } else {
    // The next attempt is a person's decision, so it begins with fresh patience; that of a pack begins in another
    // folder.
    await forgetPatience(crew.directory);
  }
  if (!hasFailed(job)) await keeper.remove(job, signal);
}

function failureOf({ type, because }: Failing, { keeper, training, view, reason }: Situation): ApplicationFailure {
  const { crew, input } = training;
  const what =
    isShared(crew) && !isOwnFault(reason) ? `The trainer shared by ${crewText(crew)}` : `The training of ${input.job}`;
  const pod = newestPod(view.pods)?.metadata?.name;
  return failure(
    type,
    `${what} ${type === 'Trainer.Died' ? 'ended' : 'was given up'} (${reason.kind}): ${because} Its Job is ${keeper.place}${pod === undefined ? '' : `, pod ${pod}`}; log, events and outcome are in ${crew.directory}/cluster.`,
  );
}

/** While the trainer is well, what fails is one training: its own time is over. */
const isOwnFault = ({ kind }: Reason): boolean => kind === 'Training';
