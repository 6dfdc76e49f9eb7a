/**
 * Entry point of a worker process: `node dist/workers/main.js [--queues orchestration,llm,sandbox,jobs]`. Wiring only.
 */
import { DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker';
import { type QueueKind, TASK_QUEUES } from '../contracts/names';
import { createActivities } from './activities';
import { WORKFLOW_BUNDLE_PATH } from './bundle-path';
import { readConfig, type WorkerConfig } from './config';
import { openTrainerReports } from './trainer-reports';
import { failureInterceptor } from './failure-interceptor';

/** Activities of each queue that one process runs at the same time. */
const concurrentActivities = (config: WorkerConfig): Record<QueueKind, number> => ({
  orchestration: 8,
  llm: 32,
  sandbox: 3,
  jobs: config.trainers,
});

async function main(): Promise<void> {
  const config = readConfig(process.argv.slice(2));
  Runtime.install({ logger: new DefaultLogger('INFO'), shutdownSignals: ['SIGTERM', 'SIGINT'] });
  const connection = await NativeConnection.connect({ address: config.temporalAddress });
  const reports = config.queues.includes('jobs') ? await openTrainerReports(config) : null;
  const activities = createActivities(config, reports);
  const workers = await Promise.all(
    config.queues.map((kind) =>
      Worker.create({
        connection,
        namespace: config.temporalNamespace,
        taskQueue: TASK_QUEUES[kind],
        activities: activities[kind],
        maxConcurrentActivityTaskExecutions: concurrentActivities(config)[kind],
        // People look at the progress: once a second is often enough, and cheap.
        maxHeartbeatThrottleInterval: '1s',
        defaultHeartbeatThrottleInterval: '1s',
        shutdownGraceTime: '10s',
        interceptors: { activity: [failureInterceptor] },
        ...(kind === 'orchestration'
          ? { workflowBundle: { codePath: WORKFLOW_BUNDLE_PATH }, maxCachedWorkflows: 200, reuseV8Context: true }
          : {}),
      }),
    ),
  );
  await Promise.all(workers.map((worker) => worker.run()));
  await reports?.close();
}

main().catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
});
