// integration: runs of a schedule one after the other, and waits that nobody answers, on a real Temporal server, with
// fakes of the activities.
import { takeTurn } from '../../activities/schedule-turn';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Context } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import type { TestWorkflowEnvironment } from '@temporalio/testing';
import type { ImprovementRunResult, Notice, RunProgress } from '../../contracts/messages/run';
import { MESSAGES, SEARCH_ATTRIBUTES, TASK_QUEUES, WORKFLOWS } from '../../contracts/names';
import { artifact, fakeActivities } from '../fakes/activities';
import { keepHistories } from '../helpers/histories';
import { startRun, until } from '../helpers/runs';
import { startTemporal, withWorkers } from '../helpers/temporal';

let temporal: TestWorkflowEnvironment;
beforeAll(async () => void (temporal = await startTemporal()));
afterAll(() => temporal.teardown());

const SMALL_SPEC = `version: 1
name: desk
environment:
  path: environment.py
  trainSeeds: { start: 0, count: 40 }
  heldOutSeeds: { start: 1000, count: 40 }
model:
  name: base
  baseUrl: http://127.0.0.1:1/v1
`;
const NEVER = 365 * 86_400_000;
const outcomeOf = async (runId: string) => {
  const { searchAttributes } = await temporal.client.workflow.getHandle(runId).describe();
  return (searchAttributes[SEARCH_ATTRIBUTES.verdict] as string[])[0];
};

let nights = 0;

/** Starts a run as a schedule does: its id is the server's, and its input names none. */
async function startNight(specPath = '/agent.yaml') {
  const runId = `run-desk-2026-03-0${++nights}T02:00:00Z`;
  const handle = await temporal.client.workflow.start(WORKFLOWS.improvementRun, {
    workflowId: runId,
    taskQueue: TASK_QUEUES.orchestration,
    args: [{ runId: '', agent: 'desk', specPath }],
    memo: { scheduled: true },
  });
  return {
    handle,
    runId,
    result: () => handle.result() as Promise<ImprovementRunResult>,
    progress: () => handle.query<RunProgress>(MESSAGES.progressQuery),
  };
}

const refuse = (type: string) => async () => {
  throw ApplicationFailure.nonRetryable(`${type} in a test`, type);
};

test('a capability that nobody answers for is left out at the deadline, and the run goes on', async () => {
  const { activities, calls } = fakeActivities({
    rejectedAttempts: { b: 99 },
    deadlines: { approvalMs: NEVER, holdMs: 300 },
  });
  await withWorkers(temporal, activities, async () => {
    const { result, runId } = await startRun(temporal);
    const { verdict, reasons } = await result();
    expect(verdict).toBe('promoted');
    expect(reasons.at(-1)).toMatch(/^b waited for an answer for .* \(schedule\.waitDeadlineHours\): No environment/);
    await keepHistories(temporal, runId, 'capability-expired');
  });
  expect(calls).toContain('promoteAdapters:a@abc');
});

test('a stage that nobody answers for ends the run as expired, with a sentence and a record', async () => {
  const { activities, calls } = fakeActivities({ deadlines: { approvalMs: NEVER, holdMs: 300 } });
  activities.sandbox.collectTrajectories = refuse('Model.Refused');
  await withWorkers(temporal, activities, async () => {
    const { result, runId } = await startRun(temporal);
    await expect(result()).rejects.toMatchObject({
      cause: { type: 'Run.Expired', message: expect.stringContaining('collect waited for an answer') as string },
    });
    expect(await outcomeOf(runId)).toBe('expired');
    await keepHistories(temporal, runId, 'stage-expired');
  });
  expect(calls).toContain('recordEnd:expired');
  expect(calls).toContain('tryTraining');
});

test('what fails again and again for too long ends the run as well', async () => {
  const { activities } = fakeActivities({ deadlines: { approvalMs: NEVER, holdMs: 300 } });
  activities.sandbox.collectTrajectories = async () => {
    throw ApplicationFailure.create({ message: 'down', type: 'Model.Unreachable', nextRetryDelay: '10ms' });
  };
  await withWorkers(temporal, activities, async () => {
    const { result, runId } = await startRun(temporal);
    await expect(result()).rejects.toMatchObject({
      cause: { type: 'Run.Expired', message: expect.stringContaining('failed again and again') as string },
    });
    expect(await outcomeOf(runId)).toBe('expired');
    await keepHistories(temporal, runId, 'failing-expired');
  });
});

test('a promotion that nobody approves ends with its report, as expired', async () => {
  const { activities, calls } = fakeActivities({ approval: true, deadlines: { approvalMs: 300, holdMs: null } });
  await withWorkers(temporal, activities, async () => {
    const { result, runId } = await startRun(temporal);
    expect(await result()).toMatchObject({
      verdict: 'expired',
      promotedVersion: null,
      reasons: ['gain 0.4', expect.stringContaining('(gate.approvalDeadlineHours).')],
    });
    await keepHistories(temporal, runId, 'approval-expired');
  });
  expect(calls.filter((call) => call.startsWith('promoteAdapters'))).toEqual([]);
  expect(calls).toContain('renderReport:expired');
});

test('an answer before the deadline ends it, and the wait says until when', async () => {
  const { activities } = fakeActivities({ approval: true, deadlines: { approvalMs: NEVER, holdMs: null } });
  const { compareArms } = activities.orchestration;
  let comparedMs = Infinity;
  activities.orchestration.compareArms = async (input) => {
    comparedMs = Date.now();
    return compareArms!(input);
  };
  await withWorkers(temporal, activities, async () => {
    const { handle, result, progress } = await startRun(temporal);
    const { waits } = await until(progress, (p) => p.waits[0]?.who === 'approval');
    expect(waits[0]!.untilMs! - waits[0]!.sinceMs).toBe(NEVER);
    // Not from the run's beginning: the owner has all of the time for the answer.
    expect(waits[0]!.sinceMs).toBeGreaterThanOrEqual(comparedMs);
    await handle.executeUpdate(MESSAGES.approveUpdate);
    expect((await result()).verdict).toBe('promoted');
  });
});

test('an approval is of one comparison: after another version became active it is asked for again', async () => {
  const { activities, calls } = fakeActivities({ approval: true });
  const { promoteAdapters } = activities.orchestration;
  let otherVersion = true;
  activities.orchestration.promoteAdapters = async (input) => {
    if (!otherVersion) return promoteAdapters!(input);
    otherVersion = false;
    return { version: null };
  };
  await withWorkers(temporal, activities, async () => {
    const { handle, result, progress, runId } = await startRun(temporal);
    await until(progress, (p) => p.waits[0]?.who === 'approval');
    await handle.executeUpdate(MESSAGES.approveUpdate);
    await until(progress, (p) => p.waits[0]?.reason.includes('Another version has become active') === true);
    await handle.executeUpdate(MESSAGES.approveUpdate);
    expect((await result()).verdict).toBe('promoted');
    await keepHistories(temporal, runId, 'approved-again');
  });
  expect(calls.filter((call) => call.startsWith('compareArms'))).toHaveLength(2);
});

test('members of the active version that cannot be kept are left out at the deadline', async () => {
  const adapter = { name: 'old@before', capabilityId: 'old', key: 'adapters/a/old-before', sha256: '2'.repeat(64) };
  const { activities, calls } = fakeActivities({
    deadlines: { approvalMs: NEVER, holdMs: 300 },
    measured: {
      version: {
        ...{ version: 4, runId: 'run-desk-before', adapters: [adapter], router: artifact('router-before.json') },
        capabilities: [{ id: 'old', name: 'old', summary: 'does old' }],
      },
      outcome: 'goes-on',
    },
  });
  activities.orchestration.keepMembers = refuse('Store.Corrupt');
  await withWorkers(temporal, activities, async () => {
    const { result, progress, runId } = await startRun(temporal);
    const held = await until(progress, (p) => p.waitingFor !== null);
    expect(held.waitingFor).toContain(`whet skip ${runId} kept-members`);
    const { verdict, reasons } = await result();
    expect(verdict).toBe('promoted');
    expect(reasons.at(-1)).toMatch(/^kept-members waited for an answer for .* \(schedule\.waitDeadlineHours\): /);
    await keepHistories(temporal, runId, 'members-expired');
  });
  expect(calls).toContain('promoteAdapters:a@abc,b@abc');
});

test('a night that is due while the one before is at work is skipped, and says why', async () => {
  const { activities, calls } = fakeActivities({ turn: { begins: false, reason: 'Skipped: run-1 has not ended.' } });
  await withWorkers(temporal, activities, async () => {
    const { result, runId } = await startNight();
    expect(await result()).toEqual({
      runId,
      verdict: 'skipped',
      reasons: ['Skipped: run-1 has not ended.'],
      summary: '',
      promotedVersion: null,
      reportDirectory: null,
    });
    expect(await outcomeOf(runId)).toBe('skipped');
    await keepHistories(temporal, runId, 'night-skipped');
  });
  expect(calls).toEqual(['takeTurn', 'recordEnd:skipped']);
});

test('a night takes over from one that only waits, and leaves one that is at work', async () => {
  const { activities } = fakeActivities();
  const { collectTrajectories } = activities.sandbox;
  let release = () => {};
  const held = new Promise<void>((resolve) => (release = resolve));
  const found = [refuse('Model.Refused'), () => held.then(() => collectTrajectories!(undefined as never))];
  activities.orchestration.takeTurn = takeTurn.bind(null, { client: () => temporal.client, webhookUrl: null });
  activities.sandbox.collectTrajectories = () => found.shift()!();
  await withWorkers(temporal, activities, async () => {
    const first = await startNight();
    await until(first.progress, (p) => p.waitingFor?.startsWith('collect') === true);
    await until(
      () => first.handle.describe(),
      (d) => (d.raw.pendingActivities ?? []).length === 0,
    );
    const second = await startNight();
    await expect(first.result()).rejects.toMatchObject({
      cause: { type: 'Run.Expired', message: expect.stringContaining(`${second.runId} took its place`) as string },
    });
    await until(second.progress, (p) => p.stages[0]?.status === 'running');
    const third = await startNight();
    const { verdict, reasons } = await third.result();
    expect(verdict).toBe('skipped');
    expect(reasons[0]).toContain(`Skipped: ${second.runId} has not ended.`);
    expect(reasons[0]).toContain('is in stage collect');
    release();
    expect((await second.result()).verdict).toBe('promoted');
    await keepHistories(temporal, first.runId, 'night-gave-way');
    await keepHistories(temporal, second.runId, 'night-took-over');
  });
});

describe('beside a run that a person started and in which everything fails again and again', () => {
  /** Begins such a run and waits until it says so; `collectTrajectories` of later runs works. */
  async function whileOneFails(action: (failing: string) => Promise<void>, calls = fakeActivities()): Promise<void> {
    const { activities } = calls;
    const { collectTrajectories } = activities.sandbox;
    let failing = '';
    activities.orchestration.takeTurn = takeTurn.bind(null, { client: () => temporal.client, webhookUrl: null });
    activities.sandbox.collectTrajectories = async (context) => {
      if (context.runId !== failing) return collectTrajectories!(context);
      // Eight attempts fail at once. The ninth does not begin before the test ends.
      const nextRetryDelay = Context.current().info.attempt < 8 ? '10ms' : '1 hour';
      throw ApplicationFailure.create({ message: 'down', type: 'Model.Unreachable', nextRetryDelay });
    };
    await withWorkers(temporal, activities, async () => {
      const first = await startRun(temporal, (runId) => void (failing = runId));
      await until(first.progress, (p) => (p.failing ?? []).length > 0);
      await until(
        () => first.handle.describe(),
        (d) => (d.raw.pendingActivities ?? []).some(({ attempt }) => (attempt ?? 0) > 8),
      );
      await action(failing);
      await first.handle.terminate();
    });
  }

  test('a night begins after schedule.waitDeadlineHours, and its report and result say so', async () => {
    const fakes = fakeActivities();
    const reported: (string | undefined)[] = [];
    const { renderReport } = fakes.activities.orchestration;
    fakes.activities.orchestration.renderReport = async (input) => {
      reported.push(input.beside);
      return renderReport!(input);
    };
    const folder = mkdtempSync(join(tmpdir(), 'whet-turn-'));
    const specPath = join(folder, 'agent.yaml');
    writeFileSync(join(folder, 'environment.py'), '');
    // So short a deadline has passed at once.
    writeFileSync(specPath, `${SMALL_SPEC}schedule:\n  waitDeadlineHours: 1.0e-9\n`);
    try {
      await whileOneFails(async (failing) => {
        const night = await startNight(specPath);
        const { verdict, reasons } = await night.result();
        expect(verdict).toBe('promoted');
        expect(reasons.at(-1)).toMatch(
          new RegExp(
            `^It began beside: ${failing} fails again and again in stage collect and has not got on since 20.* UTC ` +
              String.raw`\(collectTrajectories: Model\.Unreachable: down\), .*schedule\.waitDeadlineHours`,
          ),
        );
        expect(reported).toEqual([reasons.at(-1)]);
      }, fakes);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  test('a night before that is skipped', async () => {
    await whileOneFails(async (failing) => {
      const { verdict, reasons } = await (await startNight()).result();
      expect(verdict).toBe('skipped');
      expect(reasons[0]).toContain(`Skipped: ${failing} has not ended.`);
      expect(reasons[0]).toContain('fails again and again in stage collect');
    });
  });
});

test('a webhook is told who is waited for and how the run ended, and holds up nothing', async () => {
  const { activities } = fakeActivities({ notify: true, approval: true });
  const told: [string, Notice][] = [];
  let works = false;
  activities.orchestration.sendNotice = async ({ id, spec, notice }) => {
    if (!works) throw ApplicationFailure.create({ message: 'down', type: 'Notify.Unreachable' });
    expect(spec).toEqual(artifact('spec.json'));
    told.push([id, notice]);
  };
  await withWorkers(temporal, activities, async () => {
    const { handle, result, progress, runId } = await startRun(temporal);
    await until(progress, (p) => p.waits[0]?.who === 'approval');
    await handle.executeUpdate(MESSAGES.approveUpdate);
    // It ends while no notice has arrived.
    expect((await result()).verdict).toBe('promoted');
    works = true;
    await until(
      async () => told.length,
      (n) => n === 2,
    );
    const byId = Object.fromEntries(told);
    expect(byId[`${runId}/notice/1`]).toMatchObject({ kind: 'waits', who: 'approval', key: 'promote' });
    expect(byId[`${runId}/notice/2`]).toMatchObject({ kind: 'ended', outcome: 'promoted', promotedVersion: 1 });
    for (const notice of [1, 2]) await temporal.client.workflow.getHandle(`${runId}/notice/${notice}`).result();
    await keepHistories(temporal, runId, 'notices', ['deliverNotice', 'improvementRun']);
  });
});
