/**
 * Typed access to the Kubernetes API. Importing this file loads Kubernetes' client, which is large. So code that also
 * runs without a cluster imports this file on demand.
 */
import {
  ApiException,
  AuthenticationV1Api,
  BatchV1Api,
  CoreV1Api,
  KubeConfig,
  PatchStrategy,
  setHeaderOptions,
  type V1Job,
  type V1Pod,
  type V1TokenReview,
} from '@kubernetes/client-node';
import { CONTAINER, MANAGER, TRAINER_SELECTOR } from './names';
import { NamespaceWatch } from './namespace-watch';
import { SupervisedInformer } from './supervised-informer';
import { textOfEnd, endOf } from '../contracts/clean-text';

/** Number of lines that are requested of a pod's log. */
const LOG_LINES = 5_000;

/**
 * The API refused a request with this HTTP status. Repeating the request does not help, unless the code is 404 (not
 * found) or 409 (conflict). Code 0: no cluster is configured.
 */
export class ClusterRefused extends Error {
  constructor(
    readonly code: number,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
    this.name = 'ClusterRefused';
  }
}

/**
 * Opens the cluster of a kubeconfig file. Without a file it uses KUBECONFIG, ~/.kube/config or the pod's service
 * account.
 * @throws ClusterRefused if none of them names a cluster.
 */
export function openCluster(kubeconfig?: string): Cluster {
  const config = new KubeConfig();
  if (kubeconfig === undefined) config.loadFromDefault();
  else config.loadFromFile(kubeconfig);
  // The client's default address if it finds no configuration.
  if (config.getCurrentCluster()?.server === 'http://localhost:8080') {
    throw new ClusterRefused(0, 'there is no cluster: set KUBECONFIG, or run the worker in the cluster');
  }
  return new Cluster(config);
}

/** The API calls that training needs. Each throws ClusterRefused, or the network's error if the API does not answer. */
export class Cluster {
  private readonly batch: BatchV1Api;
  private readonly core: CoreV1Api;
  private readonly authentication: AuthenticationV1Api;

  constructor(private readonly config: KubeConfig) {
    this.batch = config.makeApiClient(BatchV1Api);
    this.core = config.makeApiClient(CoreV1Api);
    this.authentication = config.makeApiClient(AuthenticationV1Api);
  }

  /** Reads a Job; null if there is none of that name. */
  async readJob(namespace: string, name: string): Promise<V1Job | null> {
    return found(this.batch.readNamespacedJob({ namespace, name }));
  }

  /** Lists the trainer Jobs of a namespace. */
  async listJobs(namespace: string): Promise<V1Job[]> {
    const ours = { namespace, labelSelector: TRAINER_SELECTOR };
    return (await answered(this.batch.listNamespacedJob(ours))).items;
  }

  /** Creates or changes a Job by server-side apply. With `validateOnly` the server only checks it (dry run). */
  async applyJob(job: V1Job, { validateOnly = false } = {}): Promise<V1Job> {
    const request = {
      namespace: job.metadata?.namespace ?? '',
      name: job.metadata?.name ?? '',
      body: job,
      fieldManager: MANAGER,
      fieldValidation: 'Strict',
      ...(validateOnly ? { dryRun: 'All' } : {}),
    };
    return answered(
      this.batch.patchNamespacedJob(request, setHeaderOptions('Content-Type', PatchStrategy.ServerSideApply)),
    );
  }

  /**
   * Deletes only the Job with this uid, not a later one of the same name. Its pods are deleted first, with their grace
   * period. Does nothing if the Job is gone.
   */
  async deleteJob(namespace: string, name: string, uid: string): Promise<void> {
    const body = { preconditions: { uid }, propagationPolicy: 'Foreground' };
    await deleted(this.batch.deleteNamespacedJob({ namespace, name, body }));
  }

  /**
   * Deletes a pod; does nothing if it is gone.
   * @param graceSeconds default: the pod's own. 0 also removes a pod whose node no longer answers.
   */
  async deletePod(namespace: string, name: string, graceSeconds?: number): Promise<void> {
    await deleted(
      this.core.deleteNamespacedPod({
        namespace,
        name,
        ...(graceSeconds === undefined ? {} : { gracePeriodSeconds: graceSeconds }),
      }),
    );
  }

  /**
   * Reads the end of a pod's log; null if it cannot be read.
   * @param maxBytes largest number of bytes to return. `limitBytes` of the API would keep the beginning, so the request
   *   is limited by lines.
   */
  async podLog(namespace: string, name: string, maxBytes: number): Promise<string | null> {
    const request = { namespace, name, container: CONTAINER, tailLines: LOG_LINES, timestamps: true };
    const log = await found(this.core.readNamespacedPodLog(request)).catch(() => null);
    if (log === null || Buffer.byteLength(log) <= maxBytes) return log;
    return endOf(log, textOfEnd(Buffer.from(log).subarray(-maxBytes)).length);
  }

  /** Asks the API server whether a token is valid for the audience, and who owns it. */
  async reviewToken(token: string, audience: string): Promise<V1TokenReview> {
    return answered(
      this.authentication.createTokenReview({
        body: { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenReview', spec: { token, audiences: [audience] } },
      }),
    );
  }

  /** Reads a pod; null if there is none of that name. */
  async readPod(namespace: string, name: string): Promise<V1Pod | null> {
    return found(this.core.readNamespacedPod({ namespace, name }));
  }

  /** Watches the trainer Jobs and pods of a namespace, and all its events, until the watch is closed. */
  watch(namespace: string): NamespaceWatch {
    const { batch, core, config } = this;
    const base = `/api/v1/namespaces/${namespace}`;
    const ours = { namespace, labelSelector: TRAINER_SELECTOR };
    return new NamespaceWatch({
      jobs: new SupervisedInformer(config, `/apis/batch/v1/namespaces/${namespace}/jobs`, TRAINER_SELECTOR, () =>
        batch.listNamespacedJob(ours),
      ),
      pods: new SupervisedInformer(config, `${base}/pods`, TRAINER_SELECTOR, () => core.listNamespacedPod(ours)),
      events: new SupervisedInformer(config, `${base}/events`, undefined, () =>
        core.listNamespacedEvent({ namespace }),
      ),
    });
  }
}

async function answered<T>(call: Promise<T>): Promise<T> {
  try {
    return await call;
  } catch (error) {
    throw refusal(error);
  }
}

async function found<T>(call: Promise<T>): Promise<T | null> {
  try {
    return await answered(call);
  } catch (error) {
    if (error instanceof ClusterRefused && error.code === 404) return null;
    throw error;
  }
}

/** Ignores 404 and 409 of a deletion: the object is gone, or another object has its name. */
async function deleted(call: Promise<unknown>): Promise<void> {
  try {
    await answered(call);
  } catch (error) {
    if (!(error instanceof ClusterRefused && (error.code === 404 || error.code === 409))) throw error;
  }
}

function refusal(error: unknown): unknown {
  if (!(error instanceof ApiException)) return error;
  const { code, body } = error as ApiException<unknown>;
  let message = typeof body === 'string' ? body : JSON.stringify(body);
  try {
    message = (JSON.parse(message) as { message?: string }).message ?? message;
  } catch {
    // The body is not an API status, so a proxy answered.
  }
  // Overload (429) and server errors (5xx) are temporary. One 5xx is not temporary: an older server answers with it if
  // it does not know a field of the Job.
  if ((code === 429 || code >= 500) && !/field not declared in schema/.test(message)) return error;
  return new ClusterRefused(code, message, { cause: error });
}
