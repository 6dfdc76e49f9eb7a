import type { V1Job } from '@kubernetes/client-node';
import { ApplicationFailure } from '@temporalio/common';
import type { KubernetesSpec } from '../../../contracts/config/kubernetes-spec';
import { conditionOf } from '../../../k8s/objects';
import type { Cluster, ClusterRefused } from '../../../k8s/cluster';
import { failure } from '../../../contracts/typed-failure';
import { systemClock } from '../../clock';
import type { StatusReporter } from './status-reporter';

/** Time between two checks of a Job. */
export const POLL_MS = 500;
/** Wait after a failed call that says nothing about the training, because the API is down or slow. */
const RETRY_MS = 2_000;
/** This is added to the pods' grace period, because the control plane notices their end a little later. */
const REMOVAL_LAG_MS = 15_000;

/** Creates, finds and deletes the Job of a trainer group. */
export class TrainerJobClient {
  constructor(
    private readonly cluster: Cluster,
    private readonly options: {
      spec: KubernetesSpec;
      name: string;
      /** Builds the Job for the members that remain now. */
      build: () => Promise<V1Job>;
      /**
       * Whether the Job belongs to a pack. In that case a failed Job stays, so that the attempt of every member sees
       * the failure. Each member's next attempt is in another pack with another Job.
       */
      shared: boolean;
    },
  ) {}

  /** Namespace and name of the Job. */
  get fullName(): string {
    return `${this.options.spec.namespace}/${this.options.name}`;
  }

  /** Reads the Job; null when there is none. */
  find(): Promise<V1Job | null> {
    return this.cluster.readJob(this.options.spec.namespace, this.options.name);
  }

  /**
   * Returns the existing Job, or creates one. A Job that has ended belongs to an earlier attempt and is deleted first.
   * Only the failed Job of a pack is returned. While the API does not answer, it reports this and tries again.
   * @throws Trainer.ClusterRefused, the errors of `build`, or the signal's reason when it fires.
   */
  async attachOrCreate(reporter: StatusReporter, signal: AbortSignal): Promise<V1Job> {
    const { spec, name, build, shared } = this.options;
    for (;;) {
      try {
        const existing = await this.find();
        if (existing === null) return await this.cluster.applyJob(await build());
        if (existing.metadata?.deletionTimestamp === undefined) {
          if (!isOver(existing) || (shared && hasFailed(existing))) return existing;
          await this.cluster.deleteJob(spec.namespace, name, existing.metadata?.uid ?? '');
        }
        await systemClock.sleep(POLL_MS, signal);
      } catch (error) {
        if (signal.aborted || error instanceof ApplicationFailure) throw error;
        // 409 is a conflict: another worker was first.
        if (isRefusal(error) && error.code !== 409) {
          throw failure('Trainer.ClusterRefused', `Kubernetes refused the Job ${this.fullName}: ${error.message}`, {
            cause: error,
          });
        }
        await reporter.report(
          { kind: 'Unreachable', message: `the Kubernetes API does not answer (${(error as Error).message})` },
          null,
        );
        await systemClock.sleep(RETRY_MS, signal);
      }
    }
  }

  /**
   * Deletes exactly this Job. Then waits until its pods are gone, at most for their grace period and a little longer.
   */
  async remove(job: V1Job, signal?: AbortSignal): Promise<void> {
    const { spec, name } = this.options;
    const { uid = '' } = job.metadata ?? {};
    await this.cluster.deleteJob(spec.namespace, name, uid);
    const endMs = systemClock.now() + spec.graceSeconds * 1_000 + REMOVAL_LAG_MS;
    while (systemClock.now() < endMs) {
      const now = await this.find();
      if (now === null || now.metadata?.uid !== uid) return;
      await systemClock.sleep(POLL_MS, signal);
    }
  }
}

/** Whether the Job has ended, with or without success. */
export function isOver(job: V1Job): boolean {
  return hasFailed(job) || conditionOf(job.status?.conditions, 'Complete') !== undefined;
}

/** Whether the Job has failed for good. */
export const hasFailed = ({ status }: V1Job): boolean => conditionOf(status?.conditions, 'Failed') !== undefined;

/** Whether the API refused the request. It compares the name, because importing the class loads Kubernetes' client. */
export const isRefusal = (error: unknown): error is ClusterRefused =>
  error instanceof Error && error.name === 'ClusterRefused';
