/** A real Temporal dev server for tests, and workers for all task queues. */
import { defineSearchAttributeKey } from '@temporalio/common';
import { TestWorkflowEnvironment } from '@temporalio/testing';
import { DefaultLogger, Runtime, Worker } from '@temporalio/worker';
import type {
  JobActivities,
  LlmActivities,
  OrchestrationActivities,
  SandboxActivities,
} from '../../contracts/messages/activities';
import { type QueueKind, SEARCH_ATTRIBUTES, TASK_QUEUES } from '../../contracts/names';
import { repeatedFailureInterceptor } from '../../workers/repeated-failures';
import { findTemporalCli } from '../../cli/supervisor/executables';
import { workflowBundle } from './workflow-bundle';

Runtime.install({ logger: new DefaultLogger('ERROR'), workerHeartbeatInterval: '1s' });

/** Activities by queue; a test gives what its workflow calls. */
export interface QueueActivities {
  orchestration?: Partial<OrchestrationActivities>;
  llm?: Partial<LlmActivities>;
  sandbox?: Partial<SandboxActivities>;
  jobs?: Partial<JobActivities>;
}

/** Flags with which `whet up` starts the embedded server (cli/supervisor/services.ts). */
const FAIRNESS_FLAGS = [
  'matching.enableFairness=true',
  'matching.numTaskqueueReadPartitions=1',
  'matching.numTaskqueueWritePartitions=1',
].flatMap((value) => ['--dynamic-config-value', value]);

/** Starts of a server that does not answer in time. */
const MOST_STARTS = 20;

/** Starts the server. Throws when there is no Temporal CLI, because a skipped test would look like a passed one. */
export async function startTemporal(): Promise<TestWorkflowEnvironment> {
  const path = findTemporalCli();
  if (path === null) throw new Error('No Temporal CLI: run `make setup`, or set TEMPORAL_CLI_PATH.');
  const searchAttributes = Object.values(SEARCH_ATTRIBUTES).map((name) => defineSearchAttributeKey(name, 'KEYWORD'));
  for (let starts = 1; ; starts++) {
    try {
      return await TestWorkflowEnvironment.createLocal({
        server: { executable: { type: 'existing-path', path }, searchAttributes, extraArgs: FAIRNESS_FLAGS },
      });
    } catch (error) {
      // The SDK gives it five seconds to answer, which can be too short on a busy machine.
      if (starts === MOST_STARTS) throw error;
    }
  }
}

/** Runs workers for all queues while `action` runs. The names of the queues are fixed, so run one test at a time. */
export async function withWorkers<T>(
  environment: TestWorkflowEnvironment,
  activities: QueueActivities,
  action: () => Promise<T>,
): Promise<T> {
  const kinds: QueueKind[] = ['orchestration', 'llm', 'sandbox', 'jobs'];
  const workers = await Promise.all(
    kinds.map(async (kind) =>
      Worker.create({
        connection: environment.nativeConnection,
        taskQueue: TASK_QUEUES[kind],
        ...(kind === 'orchestration' ? { workflowBundle: await workflowBundle() } : {}),
        activities: activities[kind] ?? {},
        interceptors: { activity: [repeatedFailureInterceptor] },
        maxHeartbeatThrottleInterval: '200ms',
      }),
    ),
  );
  const running = workers.map((worker) => worker.run());
  try {
    return await action();
  } finally {
    for (const worker of workers) worker.shutdown();
    await Promise.all(running);
  }
}
