// integration: a run that measures what is served first, on a real Temporal server, with fakes of the activities.
import { ApplicationFailure } from '@temporalio/common';
import type { TestWorkflowEnvironment } from '@temporalio/testing';
import type { EvaluationArmInput, IncumbentVersion } from '../../contracts/messages/evaluate-stage';
import type { RolloutSummary } from '../../contracts/artifacts/trajectory';
import type { DecideNightInput } from '../../contracts/messages/night-stage';
import type { Notice, ReportInput } from '../../contracts/messages/run';
import { artifact, fakeActivities } from '../fakes/activities';
import { keepHistories } from '../helpers/histories';
import { startRun, until } from '../helpers/runs';
import { startTemporal, withWorkers } from '../helpers/temporal';

let temporal: TestWorkflowEnvironment;
beforeAll(async () => void (temporal = await startTemporal()));
afterAll(() => temporal.teardown());

const start = () => startRun(temporal);

const member = (id: string) => ({
  adapter: { name: `${id}@before`, capabilityId: id, key: `adapters/a/${id}-before`, sha256: '2'.repeat(64) },
  capability: { id, name: id, summary: `does ${id}` },
});
const VERSION: IncumbentVersion = {
  version: 4,
  runId: 'run-desk-before',
  adapters: ['a', 'old'].map((id) => member(id).adapter),
  capabilities: ['a', 'old'].map((id) => member(id).capability),
  router: artifact('router-before.json'),
};

test('a night on which nothing is new ends after measuring, with its decision in the report', async () => {
  const { activities, calls } = fakeActivities({ measured: { version: VERSION } });
  const { rollOutArm } = activities.sandbox;
  const { renderReport } = activities.orchestration;
  const arms: EvaluationArmInput[] = [];
  let reported: ReportInput | null = null;
  activities.sandbox.rollOutArm = async (input) => {
    arms.push(input);
    return rollOutArm!(input);
  };
  activities.orchestration.renderReport = async (input) => {
    reported = input;
    return renderReport!(input);
  };
  await withWorkers(temporal, activities, async () => {
    const { result, progress, runId } = await start();
    expect(await result()).toMatchObject({
      verdict: 'nothing-new',
      reasons: ['Nothing new is lacking.'],
      promotedVersion: null,
    });
    expect((await progress()).stages.map(({ name, status }) => `${name} ${status}`)).toEqual([
      'collect done',
      'identify done',
      'sharpen skipped',
      'evaluate skipped',
      'promote skipped',
      'report done',
    ]);
    await keepHistories(temporal, runId, 'night-nothing-new');
  });
  expect(arms.map(({ arm, kind, train }) => ({ arm, kind, train }))).toEqual([
    { arm: 'night-base', kind: 'base', train: [{ start: 10, count: 20 }] },
    { arm: 'night-served', kind: 'incumbent', train: [{ start: 10, count: 20 }] },
  ]);
  expect(calls).toContain('decideNight:night-base,night-served');
  expect(calls.filter((call) => /^(tryTraining|synthesise|train|planEvaluation|promote)/.test(call))).toEqual([]);
  expect(reported).toMatchObject({ verdict: 'nothing-new', night: { decision: { key: 'night-decision.json' } } });
});

test('the identification of a night sees live traffic with the rollouts, and its pass rates do not', async () => {
  const { activities, calls } = fakeActivities({ measured: { version: VERSION, live: 3 } });
  const { discoverCandidates } = activities.llm;
  const { decideNight, renderReport } = activities.orchestration;
  const seen: { identified?: RolloutSummary; decided?: DecideNightInput; reported?: ReportInput } = {};
  activities.llm.discoverCandidates = async (input) => {
    seen.identified = input.collected;
    return discoverCandidates!(input);
  };
  activities.orchestration.decideNight = async (input) => {
    seen.decided = input;
    return decideNight!(input);
  };
  activities.orchestration.renderReport = async (input) => {
    seen.reported = input;
    return renderReport!(input);
  };
  await withWorkers(temporal, activities, async () => {
    const { result, progress, runId } = await start();
    expect((await result()).verdict).toBe('nothing-new');
    expect((await progress()).stages[0]!.detail).toContain('3 conversations that it answered join them');
    await keepHistories(temporal, runId, 'night-reads-live-traffic');
  });
  expect(calls).toContain('readServedTraffic:4:20');
  expect(seen.identified).toMatchObject({ episodes: 103, live: 3, trajectories: { key: 'learned.jsonl' } });
  expect(seen.decided).toMatchObject({ live: 3, served: { rollouts: { episodes: 100 } } });
  expect(seen.decided!.served.rollouts.live).toBeUndefined();
  const learned = { episodes: 103, live: 3 };
  expect(seen.reported).toMatchObject({ collected: learned, night: { learned } });
});

test('live traffic that cannot be read is left out by a person, and the night decides without it', async () => {
  const { activities } = fakeActivities({ measured: { version: VERSION, live: 3 } });
  const { decideNight } = activities.orchestration;
  let decided: DecideNightInput | null = null;
  activities.sandbox.readServedTraffic = async () => {
    throw ApplicationFailure.nonRetryable('a file is damaged', 'Store.Corrupt');
  };
  activities.orchestration.decideNight = async (input) => {
    decided = input;
    return decideNight!(input);
  };
  await withWorkers(temporal, activities, async () => {
    const { result, progress, answer, runId } = await start();
    const held = await until(progress, (p) => p.waitingFor !== null);
    expect(held.waitingFor).toContain(`whet skip ${runId} live`);
    await answer({ answer: 'skip', key: 'live' });
    expect((await result()).verdict).toBe('nothing-new');
    await keepHistories(temporal, runId, 'night-leaves-live-traffic-out');
  });
  expect(decided).not.toHaveProperty('live');
});

test('a night with a reason goes on as a first night, and the candidate keeps what the version has', async () => {
  const { activities, calls } = fakeActivities({ measured: { version: VERSION, outcome: 'goes-on' } });
  await withWorkers(temporal, activities, async () => {
    const { result, runId } = await start();
    expect((await result()).verdict).toBe('promoted');
    await keepHistories(temporal, runId, 'night-goes-on');
  });
  expect(calls.filter((call) => call.startsWith('contrast'))).toHaveLength(2);
  expect(calls).toContain('train:b:1');
  expect(calls).toContain('keepMembers:a,b');
  expect(calls).toContain('promoteAdapters:a@abc,b@abc,old@abc');
});

test('a night that goes on from a served adapter says so to the training of that capability alone', async () => {
  const continues = [{ capabilityId: 'a', sha256: '2'.repeat(64) }];
  const { activities, calls } = fakeActivities({ measured: { version: VERSION, outcome: 'goes-on', continues } });
  await withWorkers(temporal, activities, async () => {
    const { result } = await start();
    expect((await result()).verdict).toBe('promoted');
  });
  expect(calls).toContain(`train:a:1:on ${'2'.repeat(64)}`);
  expect(calls).toContain('train:b:1');
});

test('a night that retires an adapter tries what is served without it, although nothing was trained', async () => {
  const { activities, calls } = fakeActivities({
    kept: ['old'],
    incumbent: VERSION,
    measured: { version: VERSION, outcome: 'goes-on', retires: ['old'] },
  });
  await withWorkers(temporal, activities, async () => {
    const { result, runId } = await start();
    expect((await result()).verdict).toBe('promoted');
    await keepHistories(temporal, runId, 'night-retires');
  });
  // The same content would give the same adapter.
  expect(calls.filter((call) => /^(synthesise|train:)/.test(call))).toEqual([]);
  expect(calls).toContain('keepMembers::without old');
  expect(calls).toContain('compareArms:base,a@abc,routed,incumbent:without old');
  expect(calls).toContain('promoteAdapters:a@abc');
});

test('a night that retires an adapter trains nothing beside it, whatever base lacks', async () => {
  const harmful = { ...VERSION.adapters[0]!, name: 'harmful@before', capabilityId: 'harmful' };
  const version = {
    ...VERSION,
    adapters: [...VERSION.adapters, harmful],
    capabilities: [...VERSION.capabilities, { id: 'harmful', name: 'harmful', summary: 'does harm' }],
  };
  const { activities, calls } = fakeActivities({
    kept: ['a', 'old', 'harmful'],
    incumbent: version,
    measured: { version, outcome: 'goes-on', retires: ['harmful'] },
  });
  await withWorkers(temporal, activities, async () => {
    const { result, runId } = await start();
    expect((await result()).verdict).toBe('promoted');
    await keepHistories(temporal, runId, 'night-retires-alone');
  });
  expect(calls.filter((call) => /^(synthesise|train:)/.test(call))).toEqual([]);
  expect(calls).toContain('keepMembers::without harmful');
});

test('a night labels and contrasts the rollouts of earlier nights with its own', async () => {
  const { activities } = fakeActivities({ measured: { version: VERSION, outcome: 'nothing-new' } });
  const { discoverCandidates, planLabels, contrastCapabilities } = activities.llm;
  const pooled = { key: 'pooled.jsonl', sha256: 'f'.repeat(64), bytes: 1, mediaType: 'application/jsonl' };
  const used: string[] = [];
  activities.llm.discoverCandidates = async (input) => ({
    ...(await discoverCandidates!(input)),
    pooled: { rollouts: { ...input.collected, trajectories: pooled }, earlier: 9 },
  });
  activities.llm.planLabels = async (input) => {
    used.push(input.collected.trajectories.key);
    return planLabels!(input);
  };
  activities.llm.contrastCapabilities = async (input) => {
    used.push(input.trajectories.key);
    return contrastCapabilities!(input);
  };
  await withWorkers(temporal, activities, async () => {
    const { result } = await start();
    expect((await result()).verdict).toBe('nothing-new');
  });
  expect(used).toEqual(['pooled.jsonl', 'pooled.jsonl']);
});

test('what waits while a night identifies is answered there', async () => {
  const { activities } = fakeActivities({ measured: { version: VERSION, outcome: 'too-little-power' } });
  const { discoverCandidates } = activities.llm;
  let refused = false;
  activities.llm.discoverCandidates = async (input) => {
    if (!refused) {
      refused = true;
      throw ApplicationFailure.nonRetryable('no key', 'Analyst.Refused');
    }
    expect(input.measures).toBe(true);
    return discoverCandidates!(input);
  };
  await withWorkers(temporal, activities, async () => {
    const { result, progress, answer, runId } = await start();
    await until(progress, (p) => p.waitingFor !== null);
    expect(await answer({ answer: 'retry' })).toMatchObject({ answered: ['identify'] });
    expect((await result()).verdict).toBe('too-little-power');
    await keepHistories(temporal, runId, 'night-waits');
  });
});

test('a version that cannot be played is left out by a person, and the run goes on as a first night', async () => {
  const { activities, calls } = fakeActivities({ measured: { version: VERSION } });
  const { rollOutArm } = activities.sandbox;
  activities.sandbox.rollOutArm = async (input) => {
    if (input.arm === 'night-served') throw ApplicationFailure.nonRetryable('gone', 'Evaluate.IncumbentDamaged');
    return rollOutArm!(input);
  };
  await withWorkers(temporal, activities, async () => {
    const { result, progress, answer, runId } = await start();
    const held = await until(progress, (p) => p.waitingFor !== null);
    expect(held.waitingFor).toContain(`whet skip ${runId} incumbent`);
    await answer({ answer: 'skip', key: 'incumbent' });
    expect((await result()).verdict).toBe('promoted');
    await keepHistories(temporal, runId, 'night-left-out');
  });
  expect(calls.filter((call) => call.startsWith('decideNight'))).toEqual([]);
});

test('what a changed base model will cost is told before it is spent, and stands in the report', async () => {
  const remaking = 'The base model has changed: making the 2 adapters of version 1 again takes about 1,400 rollouts.';
  const { activities, calls } = fakeActivities({ remaking, notify: true });
  const { collectTrajectories } = activities.sandbox;
  const { renderReport } = activities.orchestration;
  const told: Notice[] = [];
  let reported: ReportInput | null = null;
  let release = () => {};
  const held = new Promise<void>((resolve) => (release = resolve));
  activities.orchestration.sendNotice = async ({ notice }) => void told.push(notice);
  activities.sandbox.collectTrajectories = async (input) => {
    await held;
    return collectTrajectories!(input);
  };
  activities.orchestration.renderReport = async (input) => {
    reported = input;
    return renderReport!(input);
  };
  await withWorkers(temporal, activities, async () => {
    const { result, progress } = await start();
    await until(
      async () => told.length,
      (n) => n > 0,
    );
    expect(told).toMatchObject([{ kind: 'costs', key: null, reasons: [remaking] }]);
    expect(calls).not.toContain('tally:0');
    expect((await progress()).stages[0]!.detail).toContain(`expected cost: ${remaking}`);
    release();
    expect((await result()).verdict).toBe('promoted');
  });
  expect(reported).toMatchObject({ plan: { key: 'night-plan.json' } });
});
