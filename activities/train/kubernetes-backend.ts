import { trainerArguments } from '../../k8s/objects';
import type { Cluster } from '../../k8s/cluster';
import { jobFilePath } from '../../k8s/group-member';
import { buildJob } from '../../k8s/job-manifest';
import { jobName } from '../../k8s/names';
import { nextAction } from '../../k8s/next-action';
import { trainingReason } from '../../k8s/training-reason';
import type { WorkerPolicy } from '../../contracts/config/operator-policy';
import { refusedByPolicy } from '../../k8s/refused-by-policy';
import type { Reason, TrainingSnapshot } from '../../k8s/training-snapshot';
import { failure } from '../../contracts/typed-failure';
import { systemClock } from '../clock';
import type { Training, TrainingBackend } from './backend';
import { applyAction } from './cluster/apply-action';
import { ClusterWatches } from './cluster/cluster-watches';
import { checkpointedIterations } from './checkpoints';
import { buildJobRequest, giveDirectoriesToPod, kubernetesSpecOf } from './cluster/job-request';
import { endSidecars } from './cluster/end-sidecars';
import { recordOutcome } from './cluster/record-outcome';
import { StatusReporter } from './cluster/status-reporter';
import { isOver, POLL_MS, TrainerJobClient } from './cluster/trainer-job-client';
import { memberOutcome } from './packs/member-outcome';
import { rememberNamespace } from './orphans/namespaces';
import { readWaiting } from './progress-file';
import { trackProgress } from './progress-tracker';
import { readRestarts } from './restart-record';
import { podTokenCheck } from './reports/pod-token';
import type { ReportInbox } from './reports/report-inbox';
import { groupJobName, isShared, remainingMembers } from './trainer-group';

/** Path of the jail's profile for pods in the trainer image. */
const POD_JAIL_PROFILE = '/opt/whetstone/sandbox/profile-pod.json';
/** If the watch does not show a Job for this long, the Job was deleted before the watch could see it. */
const UNSEEN_MS = 30_000;
/** The same limit for a pack's Job that the watch has shown before: another member's attempt has replaced it. */
const GONE_MS = 2_000;

/** The dependencies of training on a cluster. */
interface KubernetesBackendOptions {
  /** Absolute path of the store's root, which must be the same in pods. */
  storeRoot: string;
  /** What agents may ask of the cluster. */
  policy: WorkerPolicy;
  /** Opens the cluster; called at the first training. Throws if there is none. */
  openCluster: () => Promise<Cluster>;
  /** Receives the trainers' reports, at an address that pods can reach; null: trainers send none. */
  reports: { inbox: ReportInbox; url: string } | null;
}

/**
 * Runs trainings as Kubernetes Jobs (docs/guides/kubernetes.md).
 * The manifest in the store is the result; the state of the
 * cluster only explains why it is not there yet.
 */
export class KubernetesBackend implements TrainingBackend {
  readonly jailProfile = POD_JAIL_PROFILE;
  private readonly watches: ClusterWatches;

  constructor(private readonly options: KubernetesBackendOptions) {
    this.watches = new ClusterWatches(options.openCluster);
  }

  async train<Manifest>(training: Training<Manifest>): Promise<Manifest> {
    const { reports } = this.options;
    const { group, planned, prepared, input, signal } = training;
    // An earlier attempt's trainer may have finished it.
    const done = await memberOutcome(training);
    if (done !== null) return done;
    const spec = kubernetesSpecOf(training);
    const refused = refusedByPolicy(this.options.policy, prepared.spec.name, spec);
    if (refused !== null) throw failure('Spec.NotAllowed', refused);
    using watched = await this.watches.acquire(spec.namespace);
    const { cluster, watch } = watched;
    await rememberNamespace(this.options.storeRoot, spec.namespace);
    const jobClient = this.jobClient(cluster, training);
    const checkToken = podTokenCheck(cluster, spec.namespace);
    const reportName = jobName(input.job, planned.key);
    using _ = reports?.inbox.expect(reportName, (token) => checkToken(token, groupJobName(group)));
    const progress = trackProgress(training, () => reports?.inbox.latest(reportName) ?? null);
    const reporter = new StatusReporter(training);
    const record = (snapshot: TrainingSnapshot, reason: Reason) =>
      recordOutcome(cluster, group.directory, snapshot, reason).catch(() => undefined);
    let job = await jobClient.attachOrCreate(reporter, signal);
    let seenMs = Date.now();
    let missingMs = UNSEEN_MS;
    for (;;) {
      const known = watch.snapshot(job.metadata?.uid ?? '');
      const waiting = await readWaiting(planned.directory);
      const snapshot: TrainingSnapshot = { ...known, trainer: await progress.read(), waiting };
      const manifest = await memberOutcome(training).catch(async (error: Error) => {
        await record(snapshot, { kind: 'CodeError', message: error.message });
        throw error;
      });
      if (manifest !== null) {
        await record(snapshot, { kind: 'Finished', message: 'the manifest is in the store' });
        if (!isShared(group) || (await remainingMembers(group)).length === 0)
          await endSidecars(watch, jobClient, job.metadata?.uid ?? '').catch(() => undefined);
        return manifest;
      }
      if (snapshot.job !== null) {
        seenMs = Date.now();
        if (isShared(group)) missingMs = GONE_MS;
      } else if (Date.now() - seenMs < missingMs || Date.now() - snapshot.contactMs > UNSEEN_MS) {
        // The watch may not show a new Job yet, and shows nothing new while the API is away.
        snapshot.job = job;
      } else {
        job = await jobClient.attachOrCreate(reporter, signal);
        seenMs = Date.now();
        missingMs = UNSEEN_MS;
      }
      const reason = trainingReason(snapshot, { stalledMs: spec.limits.stalledMinutes * 60_000 }, Date.now());
      await reporter.report(reason, snapshot);
      const times = {
        nowMs: Date.now(),
        reasonSinceMs: reporter.sinceMs,
        firstIterationMs: await progress.firstIterationMs(),
      };
      const iterations = await checkpointedIterations(group);
      const restarts = await readRestarts(group.directory, iterations, job.metadata?.uid ?? '');
      const action = nextAction(reason, snapshot, spec, restarts, times, isShared(group));
      const { namespace } = spec;
      job = await applyAction(action, { cluster, namespace, jobClient, training, reporter, job, snapshot, reason });
      await systemClock.sleep(POLL_MS, signal);
    }
  }

  async stop(training: Training): Promise<void> {
    using watched = await this.watches.acquire(kubernetesSpecOf(training).namespace);
    const { cluster, watch } = watched;
    const jobClient = this.jobClient(cluster, training);
    const job = await jobClient.find();
    if (job === null || isOver(job)) return;
    const snapshot = { ...watch.snapshot(job.metadata?.uid ?? ''), trainer: null };
    const message = isShared(training.group) ? 'no training needs the trainer any more' : 'cancelled';
    const reason = { kind: 'Preempted', message } as const;
    await recordOutcome(cluster, training.group.directory, snapshot, reason).catch(() => undefined);
    await jobClient.remove(job);
  }

  async isTraining(training: Training): Promise<boolean> {
    using watched = await this.watches.acquire(kubernetesSpecOf(training).namespace);
    const job = await this.jobClient(watched.cluster, training).find();
    const started = trainerArguments(job);
    return job !== null && !isOver(job) && started.includes(jobFilePath(training.planned.directory));
  }

  private jobClient(cluster: Cluster, training: Training): TrainerJobClient {
    const { storeRoot, reports } = this.options;
    return new TrainerJobClient(cluster, {
      spec: kubernetesSpecOf(training),
      name: groupJobName(training.group),
      shared: isShared(training.group),
      async build() {
        const request = await buildJobRequest(training, storeRoot, reports?.url ?? null);
        await giveDirectoriesToPod(request);
        return buildJob(request);
      },
    });
  }
}
