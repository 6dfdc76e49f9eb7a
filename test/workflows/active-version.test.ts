// integration: what a candidate is judged against, on a real Temporal server, with fakes of the activities.
import { ApplicationFailure } from '@temporalio/common';
import type { TestWorkflowEnvironment } from '@temporalio/testing';
import type { IncumbentVersion } from '../../contracts/messages/evaluate-stage';
import { MESSAGES } from '../../contracts/names';
import { artifact, fakeActivities } from '../fakes/activities';
import { keepHistories } from '../helpers/histories';
import { startRun, until } from '../helpers/runs';
import { startTemporal, withWorkers } from '../helpers/temporal';

let temporal: TestWorkflowEnvironment;
beforeAll(async () => void (temporal = await startTemporal()));
afterAll(() => temporal.teardown());

const start = () => startRun(temporal);

const INCUMBENT: IncumbentVersion = {
  version: 4,
  runId: 'run-desk-before',
  adapters: [{ name: 'a@before', capabilityId: 'a', key: 'adapters/a/a-before', sha256: '2'.repeat(64) }],
  capabilities: [{ id: 'a', name: 'a', summary: 'does a' }],
  router: artifact('router-before.json'),
};

test('the active version is an arm, through its own router', async () => {
  const { activities, calls } = fakeActivities({ incumbent: INCUMBENT });
  const { rollOutArm, routeTasks } = activities.sandbox;
  const { compareArms } = activities.orchestration;
  const seen: unknown[] = [];
  activities.sandbox.routeTasks = async (input) => {
    if (input.name === 'incumbent-routing')
      seen.push(
        input.router,
        input.capabilities.map(({ id }) => id),
      );
    return routeTasks!(input);
  };
  activities.sandbox.rollOutArm = async (input) => {
    if (input.kind === 'incumbent')
      seen.push(
        input.adapters.map(({ name }) => name),
        input.incumbent,
      );
    return rollOutArm!(input);
  };
  activities.orchestration.compareArms = async (input) => {
    seen.push(input.incumbent?.version, input.plan?.key);
    return compareArms!(input);
  };
  await withWorkers(temporal, activities, async () => {
    const { result } = await start();
    expect((await result()).verdict).toBe('promoted');
  });
  expect(calls).toContain('compareArms:base,a@abc,b@abc,routed,incumbent');
  expect(calls.indexOf('planEvaluation')).toBeLessThan(calls.findIndex((call) => call.startsWith('compareArms')));
  expect(seen).toEqual([
    INCUMBENT.router,
    ['a'],
    ['a@before'],
    { version: 4, runId: 'run-desk-before' },
    4,
    'evaluation-plan.json',
  ]);
});

test('an active version that cannot be played waits for a person, who may leave it out', async () => {
  const { activities } = fakeActivities({ incumbent: INCUMBENT });
  const { rollOutArm } = activities.sandbox;
  const { compareArms } = activities.orchestration;
  const failures: (string | undefined)[] = [];
  activities.sandbox.rollOutArm = async (input) => {
    if (input.kind === 'incumbent') throw ApplicationFailure.nonRetryable('gone', 'Evaluate.IncumbentDamaged');
    return rollOutArm!(input);
  };
  activities.orchestration.compareArms = async (input) => {
    failures.push(input.incumbentFailure);
    return compareArms!(input);
  };
  await withWorkers(temporal, activities, async () => {
    const { result, progress, answer, runId } = await start();
    const held = await until(progress, (p) => p.waitingFor !== null);
    expect(held.waitingFor).toContain(`whet skip ${runId} incumbent`);
    await answer({ answer: 'skip', key: 'incumbent' });
    expect((await result()).verdict).toBe('promoted');
    await keepHistories(temporal, runId, 'active-version-left-out');
  });
  expect(failures).toEqual(['A person skipped it.']);
});

test('a candidate is compared again when another version has become active before it is promoted', async () => {
  const { activities, calls } = fakeActivities({ approval: true });
  const { planEvaluation, rollOutArm, routeTasks } = activities.sandbox;
  const heldOut = { trials: 3, seeds: [{ start: 7, count: 5 }] };
  const plans: unknown[] = [];
  const played: unknown[] = [];
  activities.sandbox.routeTasks = async (input) => {
    played.push(input.heldOut);
    return routeTasks!(input);
  };
  activities.sandbox.rollOutArm = async (input) => {
    played.push(input.heldOut);
    return rollOutArm!(input);
  };
  const { promoteAdapters, compareArms } = activities.orchestration;
  let promotedByOthers = false;
  activities.sandbox.planEvaluation = async (input) => {
    plans.push(input.heldOut);
    return { ...(await planEvaluation!(input)), incumbent: promotedByOthers ? INCUMBENT : null, heldOut };
  };
  activities.orchestration.promoteAdapters = async (input) =>
    promotedByOthers ? { version: null } : promoteAdapters!(input);
  activities.orchestration.compareArms = async (input) => ({
    ...(await compareArms!(input)),
    ...(input.incumbent && { gatePassed: false, gateReasons: ['Version 4 stays.'] }),
  });
  await withWorkers(temporal, activities, async () => {
    const { handle, result, progress, runId } = await start();
    await until(progress, (p) => p.waitingFor?.includes('whet approve') === true);
    promotedByOthers = true;
    await handle.executeUpdate(MESSAGES.approveUpdate);
    expect(await result()).toMatchObject({ verdict: 'not-promoted', reasons: ['Version 4 stays.'] });
    expect((await progress()).stages.find(({ name }) => name === 'promote')?.detail).toBe('Version 4 stays.');
    await keepHistories(temporal, runId, 'judged-again');
  });
  expect(calls.filter((call) => call.startsWith('compareArms'))).toEqual([
    'compareArms:base,a@abc,b@abc,routed',
    'compareArms:base,a@abc,b@abc,routed,incumbent',
  ]);
  // All arms play what the first plan says, and the second plan is about the same.
  expect(played).toEqual(Array(5 + 2).fill(heldOut));
  expect(plans).toEqual([undefined, heldOut]);
});

test('a canary that runs makes the promotion wait, and a person may end the run without it', async () => {
  const { activities } = fakeActivities();
  activities.orchestration.promoteAdapters = async () => {
    throw ApplicationFailure.nonRetryable('Version 2 of desk is a canary.', 'Promote.CanaryRuns');
  };
  await withWorkers(temporal, activities, async () => {
    const { result, progress, answer, runId } = await start();
    const held = await until(progress, (p) => p.waitingFor !== null);
    expect(held.waitingFor).toContain(`whet skip ${runId} promote`);
    expect(held.waitingFor).toContain('whet canary AGENT --stop');
    await answer({ answer: 'skip', key: 'promote' });
    expect((await result()).verdict).toBe('not-promoted');
  });
});

test('the mixed adapter alone is a candidate: it is played once and promoted without the others', async () => {
  const { activities, calls } = fakeActivities({ mixedAdapter: true, chosen: 'mixed' });
  const { rollOutArm } = activities.sandbox;
  const played: string[] = [];
  activities.sandbox.rollOutArm = async (input) => {
    played.push(input.arm);
    return rollOutArm!(input);
  };
  await withWorkers(temporal, activities, async () => {
    const { result, runId } = await start();
    expect((await result()).verdict).toBe('promoted');
    await keepHistories(temporal, runId, 'mixed-alone');
  });
  expect(played).toEqual(['base', 'a@abc', 'b@abc', 'routed']);
  expect(calls).toContain('compareArms:base,a@abc,b@abc,routed,mixed');
  expect(calls).toContain('promoteAdapters:a@abc,b@abc,mixed@abc');
});

test('the adapter that the judged router gives openings with several needs to is promoted, whatever became of its own arm', async () => {
  const { activities, calls } = fakeActivities({ mixedAdapter: true });
  const { rollOutArm } = activities.sandbox;
  const { compareArms, renderReport } = activities.orchestration;
  const candidates: string[][] = [];
  const compared: (string | undefined)[] = [];
  const reported: (string | undefined)[] = [];
  activities.sandbox.rollOutArm = async (input) => {
    if (input.kind === 'mixed') throw ApplicationFailure.nonRetryable('500 from the server', 'Model.Refused');
    if (input.kind === 'routed') candidates.push(input.adapters.map(({ name }) => name));
    return rollOutArm!(input);
  };
  activities.orchestration.compareArms = async (input) => {
    compared.push(input.mixed?.name, input.mixedFailure);
    return compareArms!(input);
  };
  activities.orchestration.renderReport = async (input) => {
    reported.push(input.mixed?.name);
    return renderReport!(input);
  };
  await withWorkers(temporal, activities, async () => {
    const { result } = await start();
    expect((await result()).verdict).toBe('promoted');
  });
  expect(candidates).toEqual([['a@abc', 'b@abc', 'mixed@abc']]);
  expect(compared).toEqual(['mixed@abc', 'Model.Refused: 500 from the server']);
  expect(calls).toContain('compareArms:base,a@abc,b@abc,routed');
  expect(calls).toContain('promoteAdapters:a@abc,b@abc,mixed@abc');
  // It was trained and paid for, and is served.
  expect(reported).toEqual(['mixed@abc']);
});
