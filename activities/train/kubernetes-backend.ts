import type { TrainingManifest } from '../../contracts/artifacts/training';
import { buildJob } from '../../k8s/job-manifest';
import { jobFile } from '../../k8s/job-member';
import { jobName } from '../../k8s/names';
import { nextStep } from '../../k8s/next-step';
import { trainingReason } from '../../k8s/reason';
import type { Reason, TrainingView } from '../../k8s/training-snapshot';
import type { Cluster } from '../../k8s/cluster';
import type { Clock } from '../clock';
import type { Training, TrainingBackend } from './backend';
import { ClusterWatches } from './cluster/cluster-watches';
import { isOver, JobKeeper, POLL_MS } from './cluster/job-keeper';
import { clusterSpec, giveToPod, jobRequest } from './cluster/job-request';
import { readPatience } from './cluster/patience';
import { recordOutcome } from './cluster/record-outcome';
import { takeStep } from './cluster/take-step';
import { TrainingStory } from './cluster/training-story';
import { crewName, isShared } from './packs/crew';
import { ownEnd } from './packs/own-end';
import { podTokens } from './reports/pod-token';
import type { ReportDesk } from './reports/report-desk';
import { watchCrew } from './trainer-watch';

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
  reports: { desk: ReportDesk; url: string } | null;
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
    const { crew, planned, input, signal } = training;
    // Others may have trained it by now.
    const done = await ownEnd(training);
    if (done !== null) return done;
    const spec = clusterSpec(training);
    const { cluster, watch, release } = await this.watches.acquire(spec.namespace);
    const keeper = this.keeper(cluster, training);
    const isToken = podTokens(cluster, spec.namespace);
    const reportName = jobName(input.job, planned.key);
    const closeDesk = reports?.desk.expect(reportName, (token) => isToken(token, crewName(crew)));
    const trainer = watchCrew(training, () => reports?.desk.latest(reportName) ?? null);
    const story = new TrainingStory(training);
    const record = (view: TrainingView, reason: Reason) =>
      recordOutcome(cluster, crew.directory, view, reason).catch(() => undefined);
    try {
      let job = await keeper.attach(story, signal);
      let seenMs = Date.now();
      let missingMs = UNSEEN_MS;
      for (;;) {
        const view: TrainingView = { ...watch.view(job.metadata?.uid ?? ''), trainer: await trainer.look() };
        const manifest = await ownEnd(training).catch(async (error: Error) => {
          await record(view, { kind: 'CodeError', message: error.message });
          throw error;
        });
        if (manifest !== null) {
          await record(view, { kind: 'Finished', message: 'the manifest is in the store' });
          return manifest;
        }
        if (view.job !== null) {
          seenMs = Date.now();
          if (isShared(crew)) missingMs = GONE_MS;
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
        const step = nextStep(
          reason,
          view,
          spec,
          await readPatience(crew.directory, job.metadata?.uid ?? ''),
          clocks,
          isShared(crew),
        );
        job = await takeStep(step, { cluster, namespace: spec.namespace, keeper, training, story, job, view, reason });
        await clock.sleep(POLL_MS, signal);
      }
    } finally {
      closeDesk?.();
      release();
    }
  }

  async stop(training: Training): Promise<void> {
    const { cluster, watch, release } = await this.watches.acquire(clusterSpec(training).namespace);
    const keeper = this.keeper(cluster, training);
    try {
      const job = await keeper.find();
      if (job === null || isOver(job)) return;
      const view = { ...watch.view(job.metadata?.uid ?? ''), trainer: null };
      const message = isShared(training.crew) ? 'nobody waits for its trainings any more' : 'cancelled';
      await recordOutcome(cluster, training.crew.directory, view, { kind: 'Preempted', message }).catch(
        () => undefined,
      );
      await keeper.remove(job);
    } finally {
      release();
    }
  }

  async isAtWork(training: Training): Promise<boolean> {
    const { cluster, release } = await this.watches.acquire(clusterSpec(training).namespace);
    try {
      const job = await this.keeper(cluster, training).find();
      const started = job?.spec?.template.spec?.containers[0]?.args ?? [];
      return job !== null && !isOver(job) && started.includes(jobFile(training.planned.directory));
    } finally {
      release();
    }
  }

  private keeper(cluster: Cluster, training: Training): JobKeeper {
    const { storeRoot, reports, clock } = this.options;
    return new JobKeeper(cluster, {
      spec: clusterSpec(training),
      name: crewName(training.crew),
      shared: isShared(training.crew),
      clock,
      async make() {
        const request = await jobRequest(training, storeRoot, reports?.url ?? null);
        await giveToPod(request);
        return buildJob(request);
      },
    });
  }
}
