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
import { calibrateEnvironment } from '../activities/calibrate/calibrate-environment';
import { rollOutRefused } from '../activities/calibrate/roll-out-refused';
import { collectTrajectories } from '../activities/collect';
import { chooseRouter } from '../activities/evaluate/choose-router';
import { compareArms } from '../activities/evaluate/compare-arms';
import { planEvaluation } from '../activities/evaluate/plan-evaluation';
import { rollOutArm } from '../activities/evaluate/roll-out-arm';
import { routeTasks } from '../activities/evaluate/route-tasks';
import { recordEnd } from '../activities/history';
import { decideNight } from '../activities/nights/decide-night';
import { keepMembers } from '../activities/nights/keep-members';
import { planNight } from '../activities/nights/plan-night';
import { readServedTraffic } from '../activities/nights/served-traffic';
import { sendNotice } from '../activities/notify';
import { prepareRun } from '../activities/prepare';
import { amendSpec } from '../activities/prepare/amend-spec';
import { promoteAdapters } from '../activities/promote';
import { renderReport } from '../activities/report';
import { takeTurn } from '../activities/schedule-turn';
import { recordIdentification, renderStudy } from '../activities/study';
import { prepareStudy } from '../activities/study/prepare-study';
import { createAnalystFactory } from '../activities/analyst/analyst-factory';
import type { RolloutDeps } from '../activities/rollout/rollout-deps';
import { createIdentifyActivities, playExperiments } from '../activities/identify';
import { environmentOpener, HttpModelClient } from '../activities/rollout';
import { createSecondReaderActivities } from '../activities/second-reader';
import { createSynthesiseActivities } from '../activities/synthesise';
import { createTrainActivities } from '../activities/train';
import { KubernetesBackend } from '../activities/train/kubernetes-backend';
import { LocalBackend } from '../activities/train/local-backend';
import { createValidationActivities } from '../activities/validate';
import { solutionPlayer } from '../activities/target-profile/play-solutions';
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
  const { webhook, operatorPolicy, allowsOwnFolders } = config;
  const store = new LocalStore(config.storeRoot);
  const analyst = createAnalystFactory(
    store,
    config.analyst.apiKey ?? 'none',
    config.analyst.demoUrl,
    config.analyst.apiKey === null ? null : analystKeyEndpoints(config),
  );
  const opener = { store, openEnvironment: environmentOpener(openEnvironment) };
  const profileOfTarget = targetProfileReader(opener);
  const rollout: RolloutDeps = {
    store,
    openEnvironment: environmentOpener((environment) => jails.open(environment)),
    model: new HttpModelClient({
      ...(config.modelApiKey === null ? {} : { apiKey: config.modelApiKey }),
      keyEndpoints: [...modelKeyEndpoints(config), ...Object.values(config.adapterUrls)],
      adapterUrls: config.adapterUrls,
    }),
    endpoints: config,
  };
  return {
    orchestration: {
      takeTurn: (input) => takeTurn({ client, webhookUrl: webhook.url }, input),
      prepareRun: (input) =>
        prepareRun({ ...rollout, endpoints: config, webhook, operatorPolicy, allowsOwnFolders, probeJail }, input),
      amendSpec: (input) => amendSpec({ store, endpoints: config, webhook, operatorPolicy }, input),
      sendNotice: (input) => sendNotice({ store, webhook }, input),
      recordEnd: (input) => recordEnd(store, input),
      planNight: (context) => planNight(store, context),
      decideNight: (input) => decideNight(store, input),
      keepMembers: (input) => keepMembers(store, input),
      compareArms: (input) => compareArms(store, input),
      promoteAdapters: (input) => promoteAdapters(store, input),
      renderReport: (input, repetition) => renderReport(store, input, repetition),
      prepareStudy: (input) => prepareStudy({ store, endpoints: config }, input),
      recordIdentification: (input) => recordIdentification(store, input),
      renderStudy: (input, repetition) => renderStudy(store, input, repetition),
    },
    llm: {
      ...createIdentifyActivities({ store, analyst, player: solutionPlayer(opener) }),
      ...createSynthesiseActivities({ store, analyst, profileOfTarget }),
      ...createSecondReaderActivities({ store, analyst, profileOfTarget }),
    },
    sandbox: {
      collectTrajectories: (context, repetition) => collectTrajectories(rollout, context, repetition),
      playExperiments: (input) => playExperiments(rollout, input),
      ...createValidationActivities(rollout),
      calibrateEnvironment: (input) => calibrateEnvironment(rollout, input),
      rollOutRefused: (input) => rollOutRefused(rollout, input),
      planEvaluation: (input) => planEvaluation(store, input),
      chooseRouter: (input) => chooseRouter(rollout, input),
      routeTasks: (input) => routeTasks(rollout, input),
      rollOutArm: (input) => rollOutArm(rollout, input),
      readServedTraffic: (input, repetition) => readServedTraffic(store, input, repetition),
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
          policy: operatorPolicy,
          openCluster: openDefaultCluster,
          reports,
        }),
      },
    }),
  };
}

/**
 * The cluster that this worker can reach. It is loaded on demand: the client is large, and most workers have no
 * cluster.
 */
export async function openDefaultCluster(): Promise<Cluster> {
  return (await import('../k8s/cluster.js')).openCluster();
}
