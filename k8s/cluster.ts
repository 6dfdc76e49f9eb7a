/** The one door to the Kubernetes API: everything else in this folder is pure. */
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
import { MANAGER, TRAINER_SELECTOR } from './names';
import { NamespaceWatch } from './namespace-watch';
import { SupervisedInformer } from './supervised-informer';

/** Refused by the API for what was asked (not found and conflict excepted): asking again changes nothing. */
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

/** Opens the cluster that KUBECONFIG, the pod's service account or ~/.kube/config names. Throws where there is none. */
export function openCluster(kubeconfig?: string): Cluster {
  const config = new KubeConfig();
  if (kubeconfig === undefined) config.loadFromDefault();
  else config.loadFromFile(kubeconfig);
  // What the client makes up when it finds nothing.
  if (config.getCurrentCluster()?.server === 'http://localhost:8080') {
    throw new ClusterRefused(0, 'there is no cluster: set KUBECONFIG, or run the worker in the cluster');
  }
  return new Cluster(config);
}

/**
 * Typed calls, as few as training needs. All but the constructor throw ClusterRefused, or the network's error when
 * nobody answers.
 */
export class Cluster {
  private readonly batch: BatchV1Api;
  private readonly core: CoreV1Api;
  private readonly authentication: AuthenticationV1Api;

  constructor(private readonly config: KubeConfig) {
    this.batch = config.makeApiClient(BatchV1Api);
    this.core = config.makeApiClient(CoreV1Api);
    this.authentication = config.makeApiClient(AuthenticationV1Api);
  }

  /** Null when there is none. */
  async readJob(namespace: string, name: string): Promise<V1Job | null> {
    return found(this.batch.readNamespacedJob({ namespace, name }));
  }

  /** Server-side apply. `validateOnly` asks the server what it thinks of the Job without making it. */
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
   * Deletes this very Job, not a later one of the same name; its pods go first, with their grace period. No-op when it
   * is gone.
   */
  async deleteJob(namespace: string, name: string, uid: string): Promise<void> {
    const body = { preconditions: { uid }, propagationPolicy: 'Foreground' };
    await gone(this.batch.deleteNamespacedJob({ namespace, name, body }));
  }

  /** Deletes a pod; with `graceSeconds: 0` also one whose node no longer answers. No-op when it is gone. */
  async deletePod(namespace: string, name: string, graceSeconds?: number): Promise<void> {
    await gone(
      this.core.deleteNamespacedPod({
        namespace,
        name,
        ...(graceSeconds === undefined ? {} : { gracePeriodSeconds: graceSeconds }),
      }),
    );
  }

  /** The end of a pod's log; null when its node does not have it any more. */
  async podLog(namespace: string, name: string, limitBytes: number): Promise<string | null> {
    return found(this.core.readNamespacedPodLog({ namespace, name, limitBytes, timestamps: true })).catch(() => null);
  }

  /** Whom a token belongs to, when it is good for the audience. */
  async reviewToken(token: string, audience: string): Promise<V1TokenReview> {
    return answered(
      this.authentication.createTokenReview({
        body: { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenReview', spec: { token, audiences: [audience] } },
      }),
    );
  }

  async readPod(namespace: string, name: string): Promise<V1Pod | null> {
    return found(this.core.readNamespacedPod({ namespace, name }));
  }

  /** Watches Jobs, pods and events of a namespace until it is closed. */
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

/** Not there, or there under another uid: what was to be deleted is gone. */
async function gone(call: Promise<unknown>): Promise<void> {
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
    // A proxy's page, not the API's status.
  }
  // Too many requests and the server's own faults pass; a field that an older server does not know is called its own
  // fault, and does not.
  if ((code === 429 || code >= 500) && !/field not declared in schema/.test(message)) return error;
  return new ClusterRefused(code, message, { cause: error });
}
