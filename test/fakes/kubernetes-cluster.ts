/**
 * Fake of a Kubernetes cluster, for tests of what several watchers of one Job do: a Job's container is a process of
 * this machine, running the fake trainer. Keeps Job and pod status as the Job controller does under our policy; knows
 * no scheduler or events, and of images only that `absent` cannot be pulled. The real one: test/cluster.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import type { V1Job, V1Pod } from '@kubernetes/client-node';
import { FATAL_EXIT_CODES, TRAINER_EXIT_CODES } from '../../k8s/exit-codes';
import type { Cluster } from '../../k8s/cluster';

interface Running {
  job: V1Job;
  pods: V1Pod[];
  process: ChildProcess | null;
  failures: number;
}

export class FakeCluster {
  /** Every Job that was made, the newest last. */
  readonly made: V1Job[] = [];
  /** Whether each pod gets a proxy that does not end by itself. */
  withProxy = false;
  private readonly jobs = new Map<string, Running>();

  constructor(private readonly python: { path: string; script: string }) {}

  /** What backends are given. */
  get cluster(): Cluster {
    return this as unknown as Cluster;
  }

  async readJob(_namespace: string, name: string): Promise<V1Job | null> {
    return this.jobs.get(name)?.job ?? null;
  }

  async listJobs(): Promise<V1Job[]> {
    return [...this.jobs.values()].map(({ job }) => job);
  }

  async applyJob(job: V1Job): Promise<V1Job> {
    const name = job.metadata?.name ?? '';
    const existing = this.jobs.get(name);
    if (existing !== undefined) return existing.job;
    const made: V1Job = { ...job, metadata: { ...job.metadata, uid: randomUUID() }, status: {} };
    const entry: Running = { job: made, pods: [], process: null, failures: 0 };
    this.jobs.set(name, entry);
    this.made.push(made);
    if (made.spec?.suspend !== true) this.startPod(entry);
    return made;
  }

  /** What Kueue does when it admits the newest Job. */
  admit(): void {
    const entry = [...this.jobs.values()].at(-1);
    if (entry === undefined) throw new Error('There is no Job.');
    entry.job = { ...entry.job, spec: { ...entry.job.spec!, suspend: false } };
    this.startPod(entry);
  }

  async deleteJob(_namespace: string, name: string, uid: string): Promise<void> {
    const entry = this.jobs.get(name);
    if (entry?.job.metadata?.uid !== uid) return;
    entry.job = { ...entry.job, metadata: { ...entry.job.metadata, deletionTimestamp: new Date() } };
    if (entry.process === null) this.jobs.delete(name);
    else entry.process.kill('SIGTERM');
  }

  async deletePod(): Promise<void> {}

  async podLog(): Promise<string | null> {
    return 'the log of the fake trainer\n';
  }

  watch() {
    const find = (uid: string) => [...this.jobs.values()].find(({ job }) => job.metadata?.uid === uid);
    return {
      snapshot: (uid: string) => ({
        job: find(uid)?.job ?? null,
        pods: find(uid)?.pods ?? [],
        events: [],
        contactMs: Date.now(),
      }),
      close: () => undefined,
    };
  }

  /** What a node's drain does to the pod of the newest Job. */
  evict(): void {
    const entry = [...this.jobs.values()].at(-1);
    const pod = entry?.pods.at(-1);
    if (entry === undefined || pod === undefined) throw new Error('There is no pod.');
    pod.status!.conditions = [
      { type: 'DisruptionTarget', status: 'True', reason: 'EvictionByEvictionAPI', message: 'evicted' },
    ];
    entry.process?.kill('SIGTERM');
  }

  /** Names of the Jobs that are there and have not ended. */
  get active(): string[] {
    return [...this.jobs.values()]
      .filter(({ job }) => (job.status?.conditions ?? []).length === 0)
      .map(({ job }) => job.metadata?.name ?? '');
  }

  private startPod(entry: Running): void {
    const container = entry.job.spec!.template.spec!.containers[0]!;
    const uid = randomUUID();
    const pod: V1Pod = {
      metadata: { name: `pod-${uid}`, uid, creationTimestamp: new Date() },
      spec: { nodeName: 'here', containers: [{ name: 'trainer' }] },
      status: { phase: 'Running', conditions: [] },
    };
    const status = (state: object) => {
      const common = { image: '', imageID: '', ready: true, restartCount: 0 };
      pod.status!.containerStatuses = [
        ...(this.withProxy ? [{ ...common, name: 'istio-proxy', state: { running: {} } }] : []),
        { ...common, name: 'trainer', state },
      ];
    };
    entry.pods = [...entry.pods, pod];
    if (container.image === 'absent') {
      pod.status!.phase = 'Pending';
      status({ waiting: { reason: 'ImagePullBackOff', message: 'absent: not found' } });
      return;
    }
    status({ running: { startedAt: new Date() } });
    const env = Object.fromEntries((container.env ?? []).map(({ name, value }) => [name, value ?? uid]));
    entry.process = spawn('python3', [this.python.script, ...(container.args ?? [])], {
      env: { ...process.env, ...env, PYTHONPATH: this.python.path },
      stdio: 'ignore',
    });
    entry.process.once('exit', (code, signal) => {
      entry.process = null;
      // Without its interpreter's word: the trainer had not yet asked for the signal.
      const exitCode = code ?? (signal === 'SIGTERM' ? TRAINER_EXIT_CODES.stopped : 137);
      status({ terminated: { exitCode, message: '', reason: exitCode === 0 ? 'Completed' : 'Error' } });
      if (this.withProxy && entry.job.metadata?.deletionTimestamp === undefined) return;
      pod.status!.phase = exitCode === 0 ? 'Succeeded' : 'Failed';
      this.podEnded(entry, pod, exitCode);
    });
  }

  private podEnded(entry: Running, pod: V1Pod, code: number): void {
    const name = entry.job.metadata?.name ?? '';
    if (entry.job.metadata?.deletionTimestamp !== undefined) {
      this.jobs.delete(name);
      return;
    }
    const end = (type: string, reason: string) => {
      entry.job = { ...entry.job, status: { conditions: [{ type, status: 'True', reason }] } };
    };
    if (code === 0) end('Complete', 'CompletionsReached');
    else if (FATAL_EXIT_CODES.includes(code)) end('Failed', 'PodFailurePolicy');
    else if (
      pod.status?.conditions?.length === 0 &&
      code !== TRAINER_EXIT_CODES.stopped &&
      ++entry.failures > (entry.job.spec?.backoffLimit ?? 0)
    ) {
      end('Failed', 'BackoffLimitExceeded');
    } else {
      // Kubernetes waits 10 s before the next pod; a second is enough to see who is faster.
      setTimeout(() => {
        if (this.jobs.get(name) === entry && entry.job.metadata?.deletionTimestamp === undefined) this.startPod(entry);
      }, 1_000).unref();
    }
  }

  /** Ends what runs. */
  dispose(): void {
    for (const { process } of this.jobs.values()) process?.kill('SIGKILL');
    this.jobs.clear();
  }
}

/** The fake trainer, as a pod's container would have it. */
export const fakeTrainer = (root: string) => ({
  path: join(root, 'trainer-image'),
  script: join(__dirname, 'trainer.py'),
});
