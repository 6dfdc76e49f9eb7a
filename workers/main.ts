/**
 * Entry point of a worker process: `node dist/workers/main.js [--queues orchestration,llm,sandbox,jobs]`. Wiring only.
 */
import { Client } from '@temporalio/client';
import { DefaultLogger, type NativeConnection, Runtime, Worker } from '@temporalio/worker';
import { cleanStandardStreams } from '../contracts/clean-streams';
import { logFatalErrors } from '../contracts/log-fatal-errors';
import { WORKER_HEARTBEAT_MS } from '../contracts/limits';
import { type QueueKind, SEARCH_ATTRIBUTES, TASK_QUEUES } from '../contracts/names';
import { ensureSearchAttributes } from '../contracts/search-attributes';
import { removeLeftFolders } from '../contracts/temporary-folders';
import { stopOrphanJobs } from '../activities/train/orphans/stop-jobs';
import { stopOrphanProcesses } from '../activities/train/orphans/stop-processes';
import { readRunStatus } from '../activities/train/orphans/run-over';
import { EnvironmentPool } from '../sandbox';
import { createActivities, openDefaultCluster } from './activities';
import { WORKFLOW_BUNDLE_PATH } from './bundle-path';
import { readConfig, type WorkerConfig } from './config';
import { connectToTemporal, SHUTDOWN_SIGNALS } from './connect';
import { openTrainerReports } from './trainer-reports';
import { sweepOrphans } from './orphan-sweep';
import { failureInterceptor } from './failure-interceptor';
import { heartbeatInterceptor } from './heartbeat-interceptor';
import { repeatedFailureInterceptor } from './repeated-failures';

/** Codes of gRPC. */
const PERMISSION_DENIED = 7;
const UNIMPLEMENTED = 12;

/** Number of activities of each queue that one process runs in parallel. */
const concurrentActivities = (config: WorkerConfig): Record<QueueKind, number> => ({
  orchestration: 8,
  llm: 32,
  sandbox: 3,
  jobs: config.trainers,
});

async function main(): Promise<void> {
  cleanStandardStreams();
  logFatalErrors('worker');
  const config = readConfig(process.argv.slice(2));
  Runtime.install({
    logger: new DefaultLogger('INFO'),
    shutdownSignals: SHUTDOWN_SIGNALS,
    workerHeartbeatInterval: WORKER_HEARTBEAT_MS,
  });
  // Before any work of this process, which would share the machine with programs that nobody waits for.
  for (const folder of await removeLeftFolders()) console.log(`Removed ${folder}, which a killed process had left.`);
  const connection = await connectToTemporal(config.temporalAddress);
  if (config.queues.includes('orchestration')) await prepareNamespace(connection, config);
  const reports = config.queues.includes('jobs') ? await openTrainerReports(config) : null;
  const jails = new EnvironmentPool();
  const client = new Client({ connection, namespace: config.temporalNamespace });
  const activities = createActivities(config, reports, jails, () => client);
  const workers = await Promise.all(
    config.queues.map((kind) =>
      Worker.create({
        connection,
        namespace: config.temporalNamespace,
        taskQueue: TASK_QUEUES[kind],
        activities: activities[kind],
        maxConcurrentActivityTaskExecutions: concurrentActivities(config)[kind],
        // Once a second is enough and cheap, because only people look at the progress.
        maxHeartbeatThrottleInterval: '1s',
        defaultHeartbeatThrottleInterval: '1s',
        shutdownGraceTime: '10s',
        interceptors: {
          activity: [repeatedFailureInterceptor, failureInterceptor, heartbeatInterceptor],
        },
        ...(kind === 'orchestration'
          ? { workflowBundle: { codePath: WORKFLOW_BUNDLE_PATH }, maxCachedWorkflows: 200, reuseV8Context: true }
          : {}),
      }),
    ),
  );
  const stopSweeps = config.queues.includes('jobs') ? sweepTrainers(connection, config) : () => undefined;
  await Promise.all(workers.map((worker) => worker.run()));
  stopSweeps();
  await jails.close();
  await reports?.close();
}

/** Until the returned function is called, looks for trainers whose run has ended. */
function sweepTrainers(connection: NativeConnection, config: WorkerConfig): () => void {
  const client = new Client({ connection, namespace: config.temporalNamespace });
  const read = (runId: string) => readRunStatus(client, runId);
  const stops = [
    sweepOrphans('trainers', () => stopOrphanProcesses(config.storeRoot, read)),
    sweepOrphans('trainer Jobs', () => stopOrphanJobs(config.storeRoot, openDefaultCluster, read)),
  ];
  return () => stops.forEach((stop) => stop());
}

/**
 * A worker of this version needs the search attributes of this version in its namespace. If it may not even list them,
 * an operator must have registered them.
 */
async function prepareNamespace(connection: NativeConnection, config: WorkerConfig): Promise<void> {
  try {
    await ensureSearchAttributes({
      operatorService: connection.operatorService,
      namespace: config.temporalNamespace,
    });
  } catch (error) {
    const { code, message } = error as Error & { code?: number };
    if (code !== PERMISSION_DENIED && code !== UNIMPLEMENTED) throw error;
    console.error(
      `The search attributes of ${config.temporalNamespace} could not be listed (${message}). Runs need ` +
        `${Object.values(SEARCH_ATTRIBUTES).join(', ')}, each of type Keyword.`,
    );
  }
}

main().catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
});
