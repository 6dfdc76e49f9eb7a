import { join } from 'node:path';
import type { Client } from '@temporalio/client';
import { projectRoot } from '../contracts/project-root';
import type {
  JobActivities,
  LlmActivities,
  OrchestrationActivities,
  SandboxActivities,
} from '../contracts/messages/activities';
import { analystKeyEndpoints, modelKeyEndpoints } from '../activities/endpoints/resolve-endpoints';
import { createAnalystFactory } from '../activities/analyst/analyst-factory';
import { createCalibrationActivities } from '../activities/calibrate';
import { createCollectActivities } from '../activities/collect';
import type { RolloutDeps } from '../activities/rollout/rollout-deps';
import { createCompareActivities } from '../activities/evaluate/compare-arms';
import { createEvaluationRolloutActivities } from '../activities/evaluate/roll-out-arm';
import { createHistoryActivities } from '../activities/history';
import { createIdentifyActivities } from '../activities/identify';
import { createNotifyActivities } from '../activities/notify';
import { createAmendActivities } from '../activities/prepare/amend-spec';
import { createNightActivities } from '../activities/nights';
import { createServedTrafficActivities } from '../activities/nights/served-traffic';
import { createPrepareActivities } from '../activities/prepare';
import { createPromoteActivities } from '../activities/promote';
import { createReportActivities } from '../activities/report';
import { HttpModelClient } from '../activities/rollout';
import { createStudyActivities } from '../activities/study';
import { createSynthesiseActivities } from '../activities/synthesise';
import { createTrainActivities } from '../activities/train';
import { KubernetesBackend } from '../activities/train/kubernetes-backend';
import { LocalBackend } from '../activities/train/local-backend';
import { createScheduleTurnActivities } from '../activities/schedule-turn';
import { createValidationActivities } from '../activities/validate';
import { targetProfileReader } from '../activities/target-profile/read-target-profile';
import { type EnvironmentPool, openEnvironment, probeJail } from '../sandbox';
import { LocalStore } from '../store';
import type { Cluster } from '../k8s/cluster';
import type { WorkerConfig } from './config';
import type { TrainerReports } from './trainer-reports';

/** The activities of each task queue. */
interface ActivitiesByQueue {
  orchestration: OrchestrationActivities;
  llm: LlmActivities;
  sandbox: SandboxActivities;
  jobs: JobActivities;
}

/**
 * Creates the activities of every queue with the configuration's parts. `reports` receives the reports of
 * trainers in pods; null: they send none. `jails` belongs to the caller, who closes it. `client` says which runs
 * are open.
 */
export function createActivities(
  config: WorkerConfig,
  reports: TrainerReports | null,
  jails: EnvironmentPool,
  client: () => Client,
): ActivitiesByQueue {
  const { webhook, clusterPolicy } = config;
  const store = new LocalStore(config.storeRoot);
  const analyst = createAnalystFactory(
    store,
    config.analyst.apiKey ?? 'none',
    config.analyst.demoUrl,
    config.analyst.apiKey === null ? null : analystKeyEndpoints(config),
  );
  const rollout: RolloutDeps = {
    store,
    openEnvironment: (environment) => jails.open(environment),
    model: new HttpModelClient({
      ...(config.modelApiKey === null ? {} : { apiKey: config.modelApiKey }),
      keyEndpoints: [...modelKeyEndpoints(config), ...Object.values(config.adapterUrls)],
      adapterUrls: config.adapterUrls,
    }),
    endpoints: config,
  };
  return {
    orchestration: {
      ...createScheduleTurnActivities({ client, webhookUrl: config.webhook.url }),
      ...createPrepareActivities({ ...rollout, endpoints: config, webhook, clusterPolicy, probeJail }),
      ...createAmendActivities({ store, endpoints: config, webhook, clusterPolicy }),
      ...createNotifyActivities({ store, webhook }),
      ...createHistoryActivities({ store }),
      ...createNightActivities(store),
      ...createCompareActivities(store),
      ...createPromoteActivities({ store }),
      ...createReportActivities({ store }),
      ...createStudyActivities({ store, endpoints: config }),
    },
    llm: {
      ...createIdentifyActivities({ store, analyst }),
      ...createSynthesiseActivities({
        store,
        analyst,
        profileOfTarget: targetProfileReader({ store, openEnvironment }),
      }),
    },
    sandbox: {
      ...createCollectActivities(rollout),
      ...createValidationActivities(rollout),
      ...createCalibrationActivities(rollout),
      ...createEvaluationRolloutActivities(rollout),
      ...createServedTrafficActivities(store),
    },
    jobs: createTrainActivities({
      store,
      atOnce: config.trainers,
      modelUrl: config.modelUrl,
      backends: {
        local: new LocalBackend({
          trainer: { python: config.python, pythonPath: join(projectRoot(), 'trainer-image') },
          jailProfile: config.jailProfile,
        }),
        kubernetes: new KubernetesBackend({
          storeRoot: config.storeRoot,
          policy: clusterPolicy,
          openCluster: openDefaultCluster,
          reports,
        }),
      },
    }),
  };
}

/** The cluster that this worker finds. Loaded when it is needed: the client is large, and most workers have none. */
export async function openDefaultCluster(): Promise<Cluster> {
  return (await import('../k8s/cluster.js')).openCluster();
}
