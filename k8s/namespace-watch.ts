import type { CoreV1Event, V1Job, V1Pod } from '@kubernetes/client-node';
import type { SupervisedInformer } from './supervised-informer';
import type { TrainingSnapshot } from './training-snapshot';

/** A watch's knowledge about one Job. */
type JobSnapshot = Omit<TrainingSnapshot, 'trainer'>;

/** Watches the trainer Jobs, pods and events of one namespace. */
export class NamespaceWatch {
  constructor(
    private readonly of: {
      jobs: SupervisedInformer<V1Job>;
      pods: SupervisedInformer<V1Pod>;
      events: SupervisedInformer<CoreV1Event>;
    },
  ) {
    for (const informer of Object.values(of)) informer.start();
  }

  /**
   * The known facts about the Job with this uid: its pods, and the events about it, its pods and its Kueue Workload.
   */
  snapshot(uid: string): JobSnapshot {
    const { jobs, pods, events } = this.of;
    const job = jobs.items().find(({ metadata }) => metadata?.uid === uid) ?? null;
    const own = pods.items().filter(({ metadata }) => metadata?.ownerReferences?.some((owner) => owner.uid === uid));
    const about = new Set([uid, ...own.map(({ metadata }) => metadata?.uid)]);
    // Kueue's events are about its Workload object, whose name begins with the Job's name.
    const workload = `job-${job?.metadata?.name ?? '?'}-`;
    return {
      job,
      pods: own,
      events: events
        .items()
        .filter(
          ({ involvedObject: { uid: of, kind, name } }) =>
            about.has(of) || (kind === 'Workload' && name?.startsWith(workload) === true),
        ),
      contactMs: Math.min(jobs.contactMs, pods.contactMs, events.contactMs),
    };
  }

  /** Lists everything now. Rejects if the API does not answer. */
  async refresh(): Promise<void> {
    await Promise.all(Object.values(this.of).map((informer) => informer.refresh()));
  }

  /** Stops watching. */
  close(): void {
    for (const informer of Object.values(this.of)) informer.close();
  }
}
