/**
 * Improvement runs whose training stage is real and runs on a cluster; the other stages are fakes that return at once.
 */
import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { TASK_QUEUES, WORKFLOWS } from '../../contracts/names';
import type { TrainInput } from '../../contracts/messages/sharpen-stage';
import { explainRun } from '../../cli/view/explain';
import { readRunState } from '../../cli/view/run-state';
import { fakeActivities } from '../fakes/activities';
import { startTemporal, withWorkers } from '../helpers/temporal';
import type { ClusterFixture } from './cluster-fixture';

/** How long a run may take to end after its fault is repaired: a start of the trainer and its iterations. */
const END_SECONDS = 300;

export const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** An improvement run that has not ended. */
export interface LiveRun {
  /** What `whet why` prints. */
  why(): Promise<string>;
  /** The calls of the fakes, in order; `labelChunk:0` is the first to the analyst. */
  calls: readonly string[];
  /**
   * Waits until the output of `whet why` matches. Returns the output and the seconds that it took; throws after
   * `withinSeconds`, with the last output.
   */
  until(pattern: RegExp, withinSeconds: number): Promise<{ seconds: number; said: string }>;
  /** Waits for the end of the run; throws when it failed. */
  end(): Promise<void>;
  cancel(): Promise<void>;
}

/** What a test may change of a run. */
export interface DuringOptions {
  /** Where trainers report. Default: nowhere. */
  reportUrl?: string | null;
  /** Whether the trial before the training is real, too. Default: a fake that passes. */
  trial?: boolean;
}

export class ClusterRuns {
  private environment: TestWorkflowEnvironment | null = null;

  constructor(private readonly fixture: ClusterFixture) {}

  async start(): Promise<void> {
    this.environment = await startTemporal();
  }

  async stop(): Promise<void> {
    await this.environment?.teardown();
  }

  /** Starts a worker and a run with one capability, named like the training, and cancels the run after `action`. */
  async during(
    input: TrainInput,
    action: (run: LiveRun) => Promise<void>,
    { reportUrl = null, trial = false }: DuringOptions = {},
  ): Promise<void> {
    const environment = this.environment as TestWorkflowEnvironment;
    const { activities: fakes, calls } = fakeActivities({ kept: [input.job] });
    const { context } = input;
    const activities = {
      ...fakes,
      orchestration: {
        ...fakes.orchestration,
        prepareRun: async () => ({
          context,
          maxAttempts: 1,
          mixedAdapter: false,
          approval: false,
          onRejected: 'skip' as const,
          deadlines: { approvalMs: 1, holdMs: null },
          notify: false,
        }),
      },
      llm: {
        ...fakes.llm,
        synthesiseEnvironment: async () => ({
          source: input.environments[0]!.source,
          promptTokens: 1,
          completionTokens: 1,
          model: 'analyst',
        }),
      },
      sandbox: {
        ...fakes.sandbox,
        calibrateEnvironment: async () => {
          const { source } = input.environments[0]!;
          return {
            inBand: true,
            faulty: false,
            outcome: 'in band',
            detail: source,
            certificate: source,
            promptTokens: 1,
            completionTokens: 1,
          };
        },
      },
      jobs: { ...this.fixture.activities(reportUrl), ...(trial ? {} : { tryTraining: fakes.jobs.tryTraining }) },
    };
    await withWorkers(environment, activities, async () => {
      const { client } = environment;
      const handle = await client.workflow.start(WORKFLOWS.improvementRun, {
        workflowId: context.runId,
        taskQueue: TASK_QUEUES.orchestration,
        args: [{ runId: context.runId, agent: context.agent, specPath: '/nowhere' }],
      });
      const why = async () => explainRun(await readRunState(client, context.runId)).join('\n');
      const run: LiveRun = {
        why,
        calls,
        until: async (pattern, withinSeconds) => {
          const begun = Date.now();
          let said = '';
          while (Date.now() - begun < withinSeconds * 1_000) {
            said = await why();
            if (pattern.test(said)) return { seconds: (Date.now() - begun) / 1_000, said };
            await pause(300);
          }
          throw new Error(`After ${withinSeconds} s whet why did not say ${pattern.source}, but:\n${said}`);
        },
        end: async () => {
          const ended = handle.result().then(() => true);
          // Ends before jest's time limit, which would leave workers behind. A run that waits for a person never ends.
          const endMs = Date.now() + END_SECONDS * 1_000;
          for (let givenUp = 0; !(await Promise.race([ended, pause(1_000)]));) {
            const said = await why();
            givenUp = /Trainer\.\w+/.test(said) ? givenUp + 1 : 0;
            if (givenUp > 20 || Date.now() > endMs)
              throw new Error(`The run should have ended, but whet why says:\n${said}`);
          }
        },
        cancel: async () => {
          await handle.cancel();
          await handle.result().catch(() => undefined);
        },
      };
      try {
        await action(run);
      } finally {
        await handle.cancel().catch(() => undefined);
        await handle.result().catch(() => undefined);
      }
    });
  }
}
