import type { TrainingManifest } from '../../contracts/artifacts/training';
import { buildJob } from '../../k8s/job-manifest';
import { jobFilePath } from '../../k8s/group-member';
import { jobName } from '../../k8s/names';
import { nextAction } from '../../k8s/next-action';
import { trainingReason } from '../../k8s/training-reason';
import type { Reason, TrainingSnapshot } from '../../k8s/training-snapshot';
import type { Cluster } from '../../k8s/cluster';
import type { Clock } from '../clock';
import type { Training, TrainingBackend } from './backend';
import { ClusterWatches } from './cluster/cluster-watches';
import { isOver, TrainerJobClient, POLL_MS } from './cluster/trainer-job-client';
import { kubernetesSpecOf, giveToPodUser, buildJobRequest } from './cluster/job-request';
import { readRestarts } from './cluster/restart-record';
import { recordOutcome } from './cluster/record-outcome';
import { applyAction } from './cluster/apply-action';
import { StatusReporter } from './cluster/status-reporter';
import { groupJobName, isShared } from './trainer-group';
import { memberOutcome } from './packs/member-outcome';
import { podTokenCheck } from './reports/pod-token';
import type { ReportInbox } from './reports/report-inbox';
import { trackProgress } from './progress-tracker';

/** Where the trainer image has the jail's profile for pods. */
const POD_JAIL_PROFILE = '/opt/whetstone/sandbox/profile-pod.json';
/** A watch that has not shown the Job after this long would never: the Job was deleted. */
const UNSEEN_MS = 30_000;
/** A Job that was seen and is not there any more has been replaced: by whoever of a pack was first. */
const GONE_MS = 2_000;

/** What training on a cluster needs. */
export interface KubernetesBackendOptions {
  clock: Clock;
  /** Absolute path of the store's root, which pods have at the same path. */
  storeRoot: string;
  /** Opens the cluster, at the first training. Throws where there is none. */
  openCluster: () => Promise<Cluster>;
  /** Where reports arrive, and the address at which pods reach it; null: no reports. */
  reports: { desk: ReportInbox; url: string } | null;
}

/**
 * Trainings as Kubernetes Jobs (docs/kubernetes.md). The manifest in the store is the truth, the cluster's state is why
 * it is not there yet.
 */
export class KubernetesBackend implements TrainingBackend {
  readonly jailProfile = POD_JAIL_PROFILE;
  private readonly watches: ClusterWatches;

  constructor(private readonly options: KubernetesBackendOptions) {
    this.watches = new ClusterWatches(options.openCluster);
  }

  async train(training: Training): Promise<TrainingManifest> {
    const { clock, reports } = this.options;
    const { group, planned, input, signal } = training;
    // Others may have trained it by now.
    const done = await memberOutcome(training);
    if (done !== null) return done;
    const spec = kubernetesSpecOf(training);
    const { cluster, watch, release } = await this.watches.acquire(spec.namespace);
    const keeper = this.keeper(cluster, training);
    const isToken = podTokenCheck(cluster, spec.namespace);
    const reportName = jobName(input.job, planned.key);
    const closeDesk = reports?.desk.expect(reportName, (token) => isToken(token, groupJobName(group)));
    const trainer = trackProgress(training, () => reports?.desk.latest(reportName) ?? null);
    const story = new StatusReporter(training);
    const record = (view: TrainingSnapshot, reason: Reason) =>
      recordOutcome(cluster, group.directory, view, reason).catch(() => undefined);
    try {
      let job = await keeper.attach(story, signal);
      let seenMs = Date.now();
      let missingMs = UNSEEN_MS;
      for (;;) {
        const view: TrainingSnapshot = { ...watch.view(job.metadata?.uid ?? ''), trainer: await trainer.look() };
        const manifest = await memberOutcome(training).catch(async (error: Error) => {
          await record(view, { kind: 'CodeError', message: error.message });
          throw error;
        });
        if (manifest !== null) {
          await record(view, { kind: 'Finished', message: 'the manifest is in the store' });
          return manifest;
        }
        if (view.job !== null) {
          seenMs = Date.now();
          if (isShared(group)) missingMs = GONE_MS;
        } else if (Date.now() - seenMs < missingMs || Date.now() - view.contactMs > UNSEEN_MS) {
          // Just made, the watch may not know it yet.
          view.job = job;
        } else {
          job = await keeper.attach(story, signal);
          seenMs = Date.now();
          missingMs = UNSEEN_MS;
        }
        const reason = await story.tell(
          trainingReason(view, { stalledMs: spec.limits.stalledMinutes * 60_000 }, Date.now()),
          view,
        );
        const clocks = {
          nowMs: Date.now(),
          reasonMs: story.sinceMs,
          firstIterationMs: await trainer.firstIterationMs(),
        };
        const step = nextAction(
          reason,
          view,
          spec,
          await readRestarts(group.directory, job.metadata?.uid ?? ''),
          clocks,
          isShared(group),
        );
        job = await applyAction(step, {
          cluster,
          namespace: spec.namespace,
          keeper,
          training,
          story,
          job,
          view,
          reason,
        });
        await clock.sleep(POLL_MS, signal);
      }
    } finally {
      closeDesk?.();
      release();
    }
  }

  async stop(training: Training): Promise<void> {
    const { cluster, watch, release } = await this.watches.acquire(kubernetesSpecOf(training).namespace);
    const keeper = this.keeper(cluster, training);
    try {
      const job = await keeper.find();
      if (job === null || isOver(job)) return;
      const view = { ...watch.view(job.metadata?.uid ?? ''), trainer: null };
      const message = isShared(training.group) ? 'nobody waits for its trainings any more' : 'cancelled';
      await recordOutcome(cluster, training.group.directory, view, { kind: 'Preempted', message }).catch(
        () => undefined,
      );
      await keeper.remove(job);
    } finally {
      release();
    }
  }

  async isTraining(training: Training): Promise<boolean> {
    const { cluster, release } = await this.watches.acquire(kubernetesSpecOf(training).namespace);
    try {
      const job = await this.keeper(cluster, training).find();
      const started = job?.spec?.template.spec?.containers[0]?.args ?? [];
      return job !== null && !isOver(job) && started.includes(jobFilePath(training.planned.directory));
    } finally {
      release();
    }
  }

  private keeper(cluster: Cluster, training: Training): TrainerJobClient {
    const { storeRoot, reports, clock } = this.options;
    return new TrainerJobClient(cluster, {
      spec: kubernetesSpecOf(training),
      name: groupJobName(training.group),
      shared: isShared(training.group),
      clock,
      async make() {
        const request = await buildJobRequest(training, storeRoot, reports?.url ?? null);
        await giveToPodUser(request);
        return buildJob(request);
      },
    });
  }
}
