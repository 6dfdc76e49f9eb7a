/**
 * Entry point of a worker process: `node dist/workers/main.js [--queues orchestration,llm,sandbox,jobs]`. Wiring only.
 */
import { DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker';
import { type QueueKind, TASK_QUEUES } from '../contracts/names';
import { activitiesOf } from './activities';
import { WORKFLOW_BUNDLE_PATH } from './bundle-path';
import { readConfig, type WorkerConfig } from './config';
import { openReports } from './reports';
import { typedFailures } from './typed-failures';

/** Activities of each kind that run at once in one process. */
const slots = (config: WorkerConfig): Record<QueueKind, number> => ({
  orchestration: 8,
  llm: 32,
  sandbox: 3,
  jobs: config.trainers,
});

async function main(): Promise<void> {
  const config = readConfig(process.argv.slice(2));
  Runtime.install({ logger: new DefaultLogger('INFO'), shutdownSignals: ['SIGTERM', 'SIGINT'] });
  const connection = await NativeConnection.connect({ address: config.temporalAddress });
  const reports = config.queues.includes('jobs') ? await openReports(config) : null;
  const activities = activitiesOf(config, reports);
  const workers = await Promise.all(
    config.queues.map((kind) =>
      Worker.create({
        connection,
        namespace: config.temporalNamespace,
        taskQueue: TASK_QUEUES[kind],
        activities: activities[kind],
        maxConcurrentActivityTaskExecutions: slots(config)[kind],
        // Progress is looked at by people: a second is fresh enough, and cheap.
        maxHeartbeatThrottleInterval: '1s',
        defaultHeartbeatThrottleInterval: '1s',
        shutdownGraceTime: '10s',
        interceptors: { activity: [typedFailures] },
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
