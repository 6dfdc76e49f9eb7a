import type { TestWorkflowEnvironment } from '@temporalio/testing';
import type {
  AnswerInput,
  AnswerResult,
  ImprovementRunInput,
  ImprovementRunResult,
  RunProgress,
} from '../../contracts/messages/run';
import { MESSAGES, TASK_QUEUES, WORKFLOWS } from '../../contracts/names';

let count = 0;

/**
 * Starts an improvement run of the agent `desk`, with what tests ask of it. `before` is told its id. `more`: what its
 * input has besides.
 */
export async function startRun(
  { client }: TestWorkflowEnvironment,
  before?: (runId: string) => void,
  more: Pick<ImprovementRunInput, 'until'> = {},
) {
  const runId = `run-desk-${++count}`;
  before?.(runId);
  const handle = await client.workflow.start(WORKFLOWS.improvementRun, {
    workflowId: runId,
    taskQueue: TASK_QUEUES.orchestration,
    args: [{ runId, agent: 'desk', specPath: '/agent.yaml', ...more }],
    memo: { agent: 'desk', specPath: '/agent.yaml' },
  });
  return {
    handle,
    runId,
    result: () => handle.result() as Promise<ImprovementRunResult>,
    progress: () => handle.query<RunProgress>(MESSAGES.progressQuery),
    answer: (input: AnswerInput) =>
      handle.executeUpdate<AnswerResult, [AnswerInput]>(MESSAGES.answerUpdate, { args: [input] }),
  };
}

/** Longest time that `until` reads, so that a value that never comes is shown; nothing is measured by it. */
const LONGEST_MS = 300_000;

/** Reads until the value is as wanted, and returns it. */
export async function until<T>(read: () => Promise<T>, good: (value: T) => boolean): Promise<T> {
  const giveUpAt = Date.now() + LONGEST_MS;
  for (;;) {
    const value = await read();
    if (good(value)) return value;
    if (Date.now() > giveUpAt) throw new Error(`It never came. The last value: ${JSON.stringify(value)}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
