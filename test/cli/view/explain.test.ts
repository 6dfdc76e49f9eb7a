// tier: unit
import {
  ActivityFailure,
  ApplicationFailure,
  DefaultFailureConverter,
  defaultPayloadConverter,
  RetryState,
  TerminatedFailure,
} from '@temporalio/common';
import { WorkflowFailedError } from '@temporalio/client';
import type { RunProgress } from '../../../contracts/messages/run';
import { explainRun, explainStopping } from '../../../cli/view/explain';
import { failureOfWorkflow, reportedFailure, type PendingActivity, type RunState } from '../../../cli/view/run-state';
import type { QueueWorker } from '../../../cli/view/task-queue-workers';
import { formatStageLine, stageLines } from '../../../cli/view/stage-lines';

const NOW = 1_800_000_000_000;

const progress = (running: RunProgress['stages'][number]['name']): RunProgress => ({
  runId: 'run-desk-1',
  agent: 'desk',
  stages: (['collect', 'identify', 'sharpen', 'evaluate', 'promote', 'report'] as const).map((name) => ({
    name,
    status: name === running ? 'running' : 'waiting',
    detail: '',
    seconds: null,
  })),
  waitingFor: null,
  waits: [],
  failing: [],
});

const state = (change: Partial<RunState>): RunState => ({
  runId: 'run-desk-1',
  agent: 'desk',
  status: 'running',
  startedAt: NOW - 60_000,
  closedAt: null,
  progress: progress('identify'),
  activities: [],
  steps: [],
  pollers: {},
  workers: null,
  result: null,
  failure: null,
  now: NOW,
  ...change,
});

const activity = (change: Partial<PendingActivity>): PendingActivity => ({
  workflowId: 'run-desk-1',
  activityType: 'labelChunk',
  taskQueue: 'whet-llm',
  status: 'started',
  attempt: 1,
  maximumAttempts: null,
  progress: null,
  heartbeatAt: NOW - 500,
  scheduledAt: NOW - 30_000,
  startedAt: NOW - 20_000,
  nextAttemptAt: null,
  lastFailure: null,
  workerIdentity: null,
  ...change,
});

const counted = (done: number, total: number) => ({
  stage: 'identify' as const,
  unit: 'labels',
  done,
  total,
  ratePerSecond: 23,
  secondsLeft: (total - done) / 23,
});

describe('why', () => {
  test('says since when and for whom each thing waits, and what fails beside it', () => {
    const waiting = {
      ...progress('sharpen'),
      waitingFor: 'refunds: No environment.',
      waits: [{ key: 'refunds', reason: 'No environment.', sinceMs: NOW - 725_000, who: 'owner' as const }],
      failing: [
        {
          key: 'postcodes trainAdapter',
          attempts: 7,
          sinceMs: NOW - 60_000,
          stillSinceMs: NOW,
          reason: 'no node',
          gotOn: false,
        },
      ],
    };
    expect(explainRun(state({ progress: waiting }))).toEqual([
      "It waits for the agent's owner, since 2027-01-15 07:47 UTC (12 min 05 s). refunds: No environment.",
      'Trouble since 2027-01-15 07:59 UTC (1 min 00 s). postcodes trainAdapter: At least 7 attempts have failed. ' +
        'The last one: no node',
    ]);
    expect(explainStopping(state({ progress: waiting }))).toEqual(['Nothing of it is under way; a worker ends it.']);
  });

  test('says how far a running activity is', () => {
    const text = explainRun(state({ activities: [activity({ progress: counted(412, 1400) })] })).join('\n');
    expect(text).toContain('stage 2 of 6, identify');
    expect(text).toContain('412 of 1400 labels, 23/s, 43 s left');
  });

  test('names the queue that nobody polls and the command that helps', () => {
    const text = explainRun(
      state({ activities: [activity({ status: 'scheduled' })], pollers: { 'whet-llm': null } }),
    ).join('\n');
    expect(text).toContain('has waited for 30 s for a worker on whet-llm');
    expect(text).toContain('whet worker --queues llm');
  });

  test('tells a busy worker, a stopped one and one with room apart, by their heartbeats', () => {
    const worker: QueueWorker = {
      identity: '4711@host',
      taskQueue: 'whet-llm',
      heartbeatAt: NOW - 3_000,
      silent: false,
      shuttingDown: false,
      used: 32,
      free: 0,
    };
    const whyWaits = (workers: QueueWorker[] | null) =>
      explainRun(
        state({
          activities: [activity({ status: 'scheduled' })],
          // A stopped worker's last long poll is still young, and a busy one polls no more: neither says anything.
          pollers: { 'whet-llm': NOW - 30_000 },
          workers,
        }),
      ).join('\n');
    expect(whyWaits([worker])).toContain('the worker is busy with 32 other tasks of that kind');
    expect(whyWaits([worker, { ...worker, free: 1 }])).toContain('has room for it');
    expect(whyWaits([{ ...worker, silent: true, heartbeatAt: NOW - 45_000 }])).toMatch(
      /the worker 4711@host has given no sign of life for 45 s: .* stopped or gone.*kill -CONT 4711.*whet up/,
    );
    expect(whyWaits([{ ...worker, shuttingDown: true }])).toContain('is shutting down');
    expect(whyWaits(null)).toContain('a worker asks for work there');
  });

  test('says which worker of a running activity is stopped', () => {
    const workers = [
      {
        identity: '4711@host',
        taskQueue: 'whet-llm',
        heartbeatAt: NOW - 45_000,
        silent: true,
        shuttingDown: false,
        used: 1,
        free: 0,
      },
    ];
    const text = explainRun(state({ activities: [activity({ workerIdentity: '4711@host' })], workers })).join('\n');
    expect(text).toContain('the worker 4711@host has given no sign of life for 45 s');
  });

  test('says that a run keeps the address of its model', () => {
    const text = explainRun(
      state({
        activities: [
          activity({
            status: 'backing-off',
            attempt: 8,
            nextAttemptAt: NOW + 9_000,
            lastFailure: { type: 'Model.Unreachable', message: 'Nobody answers.' },
          }),
        ],
      }),
    ).join('\n');
    expect(text).toMatch(/attempt 7 failed.*The run keeps the address that it began with: let the server listen there/);
  });

  test.each([
    ['Model.Unreachable', 'model.baseUrl'],
    ['Analyst.Unavailable', 'analyst.baseUrl'],
  ])('says of %s in the first checks that agent.yaml is read again, and later that it is not', (type, field) => {
    const adviceIn = (activityType: string) =>
      explainRun(
        state({
          activities: [
            activity({
              ...{ activityType, status: 'backing-off', attempt: 8, nextAttemptAt: NOW + 9_000 },
              lastFailure: { type, message: 'Nobody answers.' },
            }),
          ],
        }),
      )
        .join('\n')
        .replace(/^[^]*What to do: /, '');
    expect(adviceIn('prepareRun')).toContain(`correct ${field}: until its first checks have passed, a run reads agent`);
    expect(adviceIn('prepareRun')).not.toContain('has no effect');
    expect(adviceIn('collectTrajectories')).toContain('has no effect on this run');
    expect(adviceIn('collectTrajectories')).not.toContain('correct');
  });

  test('puts the trouble of the services on this machine first', () => {
    const [first] = explainRun(state({}), ['The disk of WHET_HOME (/x) is full.']);
    expect(first).toBe('The disk of WHET_HOME (/x) is full.');
  });

  test('gives failure, remedy and time of the next attempt of an activity that backs off', () => {
    const waiting = activity({
      status: 'backing-off',
      attempt: 4,
      nextAttemptAt: NOW + 20_000,
      lastFailure: { type: 'Analyst.RateLimited', message: 'The endpoint asked for a pause of 20 s.' },
    });
    const text = explainRun(state({ activities: [waiting] })).join('\n');
    expect(text).toContain('attempt 3 failed; the next starts in 20 s');
    expect(text).toContain('Analyst.RateLimited: The endpoint asked for a pause of 20 s.');
    expect(text).toContain('What to do: Nothing: the call is repeated');
  });

  test('says that a silent activity may have lost its worker', () => {
    const text = explainRun(state({ activities: [activity({ heartbeatAt: NOW - 12_000 })] })).join('\n');
    expect(text).toContain('No sign of life for 12 s');
  });

  test('puts the person it waits for first', () => {
    const reason = 'whet approve run-desk-1';
    const waits = [{ key: 'promote', reason, sinceMs: NOW - 60_000, who: 'approval' as const }];
    const waiting = { ...progress('promote'), waitingFor: `promote: ${reason}`, waits };
    const [first] = explainRun(state({ progress: waiting, activities: [activity({})] }));
    expect(first).toBe(
      'It waits for an approval, since 2027-01-15 07:59 UTC (1 min 00 s). promote: whet approve run-desk-1',
    );
  });

  test('says that the next step of the workflow has no worker', () => {
    const text = explainRun(
      state({
        progress: null,
        steps: [{ workflowId: 'run-desk-1', taskQueue: 'whet-orchestration', attempt: 1, scheduledAt: NOW - 5_000 }],
        pollers: { 'whet-orchestration': null },
      }),
    ).join('\n');
    expect(text).toContain('No worker asks for work on whet-orchestration');
    expect(text).toContain('whet up');
  });

  test('explains a failed run by its failure and the catalogue', () => {
    const failed = state({
      status: 'failed',
      closedAt: NOW,
      failure: { type: 'Collect.TooFewToContrast', message: '3 failures were collected, 20 are needed.' },
    });
    expect(explainRun(failed)).toEqual([
      'It failed after 1 min 00 s.',
      'Collect.TooFewToContrast: 3 failures were collected, 20 are needed.',
      expect.stringContaining('What to do: Raise'),
    ]);
  });
});

describe('reportedFailure', () => {
  test('digs out the application failure under activity and child failures', () => {
    const wrapped = {
      message: 'Activity task failed',
      cause: { message: 'Child failed', cause: { message: 'no', applicationFailureInfo: { type: 'Model.Refused' } } },
    };
    expect(reportedFailure(wrapped)).toEqual({ type: 'Model.Refused', message: 'no' });
  });

  test('names a timeout', () => {
    expect(reportedFailure({ message: 'activity Heartbeat timeout', timeoutFailureInfo: {} })).toEqual({
      type: 'Timeout',
      message: 'activity Heartbeat timeout',
    });
  });
});

describe('failureOfWorkflow', () => {
  test('keeps the sentence with the field, and not the error of the system that it comes from', () => {
    const message = 'The base model /none (model.path) is not a model directory.';
    const cause = new Error("ENOENT: no such file or directory, access '/none/config.json'");
    const refused = ApplicationFailure.create({ type: 'Spec.Invalid', message, cause });
    const activity = new ActivityFailure('failed', 'prepareRun', '1', RetryState.NON_RETRYABLE_FAILURE, 'me', refused);
    const converter = new DefaultFailureConverter();
    const sent = converter.errorToFailure(activity, defaultPayloadConverter);
    const received = converter.failureToError(sent, defaultPayloadConverter);
    const error = new WorkflowFailedError('Workflow execution failed', received, RetryState.NON_RETRYABLE_FAILURE);
    expect(failureOfWorkflow(error)).toEqual({ type: 'Spec.Invalid', message });
  });

  test('says why a workflow was terminated, and what another error says', () => {
    const terminated = new WorkflowFailedError('x', new TerminatedFailure('by hand'), RetryState.NON_RETRYABLE_FAILURE);
    expect(failureOfWorkflow(terminated)).toEqual({ type: null, message: 'by hand' });
    expect(failureOfWorkflow(new Error('no server'))).toEqual({ type: null, message: 'no server' });
  });
});

describe('stage lines', () => {
  test('adds up what several activities of a stage count', () => {
    const [, identify] = stageLines(
      state({ activities: [activity({ progress: counted(100, 200) }), activity({ progress: counted(50, 200) })] }),
    );
    expect(identify?.text).toBe('150 of 400 labels, 46/s, 5.4 s left');
  });

  test('names activities side by side, such as the arms that are rolled out', () => {
    const arms = ['base', 'a', 'b', 'c', 'd', 'e', 'f', 'g'];
    const [, identify] = stageLines(
      state({ activities: arms.map((note) => activity({ progress: { ...counted(1, 2), note } })) }),
    );
    expect(identify?.text).toContain('(base, a, b, c, d, e and 2 more)');
  });

  test('keeps different units apart', () => {
    const other = { ...counted(3, 40), unit: 'iterations', stage: 'identify' as const };
    const [, identify] = stageLines(
      state({ activities: [activity({ progress: counted(1, 2) }), activity({ progress: other })] }),
    );
    expect(identify?.text).toMatch(/1 of 2 labels.* · 3 of 40 iterations/);
  });

  test('shows a stage that is done with its time and result', () => {
    expect(
      formatStageLine({ name: 'collect', status: 'done', seconds: 32.4, text: '800 rollouts, 270 successes' }),
    ).toBe('collect   done             32 s  800 rollouts, 270 successes');
  });
});
