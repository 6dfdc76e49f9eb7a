import type { V1Job } from '@kubernetes/client-node';
import { ApplicationFailure } from '@temporalio/common';
import type { KubernetesSpec } from '../../../contracts/config/kubernetes-spec';
import { conditionOf } from '../../../k8s/objects';
import type { Cluster, ClusterRefused } from '../../../k8s/cluster';
import { failure } from '../../../contracts/typed-failure';
import type { Clock } from '../../clock';
import type { StatusReporter } from './status-reporter';

export const POLL_MS = 500;
/** After an answer that says nothing about the training: the API is down, or slow. */
const RETRY_MS = 2_000;
/** On top of the pods' grace period: the control plane notices their end a little later. */
const REMOVAL_LAG_MS = 15_000;

/** Makes and removes the one Job of a group. */
export class TrainerJobClient {
  constructor(
    private readonly cluster: Cluster,
    private readonly options: {
      spec: KubernetesSpec;
      name: string;
      clock: Clock;
      /** The Job as it should be made now. */
      make: () => Promise<V1Job>;
      /**
       * The Job is a pack's: one that failed is judged by all of its members, since the next attempt of each is in
       * another pack.
       */
      shared: boolean;
    },
  ) {}

  /** Whole name of the Job, for people. */
  get place(): string {
    return `${this.options.spec.namespace}/${this.options.name}`;
  }

  /** The Job of that name; null when there is none. */
  find(): Promise<V1Job | null> {
    return this.cluster.readJob(this.options.spec.namespace, this.options.name);
  }

  /**
   * The Job that is there, or a new one. What an earlier attempt's Job ended with was that attempt's business: it makes
   * room, unless it is shared.
   * @throws Trainer.ClusterRefused, what making it throws, or the signal's reason when it is aborted; waits as long as
   *   the API does not answer.
   */
  async attach(story: StatusReporter, signal: AbortSignal): Promise<V1Job> {
    const { spec, name, clock, make, shared } = this.options;
    for (;;) {
      try {
        const existing = await this.find();
        if (existing === null) return await this.cluster.applyJob(await make());
        if (existing.metadata?.deletionTimestamp === undefined) {
          if (!isOver(existing) || (shared && hasFailed(existing))) return existing;
          await this.cluster.deleteJob(spec.namespace, name, existing.metadata?.uid ?? '');
        }
        await clock.sleep(POLL_MS, signal);
      } catch (error) {
        if (signal.aborted || error instanceof ApplicationFailure) throw error;
        // A conflict is another worker that was faster.
        if (isRefusal(error) && error.code !== 409) {
          throw failure('Trainer.ClusterRefused', `Kubernetes refused the Job ${this.place}: ${error.message}`, {
            cause: error,
          });
        }
        await story.tell(
          { kind: 'Unreachable', message: `the Kubernetes API does not answer (${(error as Error).message})` },
          null,
        );
        await clock.sleep(RETRY_MS, signal);
      }
    }
  }

  /** Deletes this very Job and waits until its pods are gone, as long as their grace period allows. */
  async remove(job: V1Job, signal?: AbortSignal): Promise<void> {
    const { spec, name, clock } = this.options;
    const { uid = '' } = job.metadata ?? {};
    await this.cluster.deleteJob(spec.namespace, name, uid);
    const endMs = clock.now() + spec.graceSeconds * 1_000 + REMOVAL_LAG_MS;
    while (clock.now() < endMs) {
      const now = await this.find();
      if (now === null || now.metadata?.uid !== uid) return;
      await clock.sleep(POLL_MS, signal);
    }
  }
}

/** Nothing of the Job runs any more. */
export function isOver(job: V1Job): boolean {
  return hasFailed(job) || conditionOf(job.status?.conditions, 'Complete') !== undefined;
}

export const hasFailed = ({ status }: V1Job): boolean => conditionOf(status?.conditions, 'Failed') !== undefined;

/** The cluster's word that asking again changes nothing. By name: the class would load Kubernetes' client. */
export const isRefusal = (error: unknown): error is ClusterRefused =>
  error instanceof Error && error.name === 'ClusterRefused';
