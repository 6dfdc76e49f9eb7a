// tier: integration
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { ApplicationFailure } from '@temporalio/common';
import { Context as ActivityContext } from '@temporalio/activity';
import { answerCommand, approveCommand } from '../../cli/commands/answers';
import { cancelCommand } from '../../cli/commands/cancel';
import { lsCommand } from '../../cli/commands/ls';
import { runCommand } from '../../cli/commands/run';
import { scheduleCommand } from '../../cli/commands/schedule';
import { statusCommand, whyCommand } from '../../cli/commands/status';
import type { Context } from '../../cli/context';
import type { Output } from '../../cli/output';
import { readSettings } from '../../cli/settings';
import { followRun } from '../../cli/view/follow';
import { readRunState } from '../../cli/view/run-state';
import { fakeActivities } from '../fakes/activities';
import { startTemporal, withWorkers } from '../helpers/temporal';
import { writeSmallAgent } from './small-agent';

const folder = mkdtempSync(join(tmpdir(), 'whet-cli-'));
const agentPath = writeSmallAgent(folder);

let server: TestWorkflowEnvironment;
beforeAll(async () => {
  server = await startTemporal();
});
afterAll(async () => {
  await server?.teardown();
  rmSync(folder, { recursive: true, force: true });
});

/** A context that keeps what a command prints. */
function capture(address = server.address): { context: Context; lines: string[]; values: unknown[] } {
  const lines: string[] = [];
  const values: unknown[] = [];
  const out: Output = {
    live: false,
    line: (text = '') => void lines.push(text),
    result: (value, text) => {
      values.push(value);
      lines.push(text);
    },
    redraw: () => undefined,
  };
  return { context: { settings: readSettings({ WHET_HOME: folder, TEMPORAL_ADDRESS: address }), out }, lines, values };
}

async function startRun(): Promise<string> {
  const { context, values } = capture();
  await runCommand(context, agentPath, { seed: 7 });
  return (values[0] as { runId: string }).runId;
}

const why = async (runId: string): Promise<string> => {
  const { context, lines } = capture();
  await whyCommand(context, runId);
  return lines.join('\n');
};

async function untilWhy(runId: string, pattern: RegExp): Promise<void> {
  while (!pattern.test(await why(runId))) await sleep(100);
}

test('a run without a worker says that nobody asks for its work', async () => {
  const runId = await startRun();
  expect(runId).toMatch(/^run-desk-\d{8}-\d{6}-[0-9a-f]{4}$/);
  expect(await why(runId)).toMatch(/No worker asks for work on whet-orchestration.*whet up/);
  await server.client.workflow.getHandle(runId).terminate();
  expect(await why(runId)).toMatch(/It was terminated after/);
});

test('the start of a run says what came of its first checks', async () => {
  const started = async () => {
    const { context, lines, values } = capture();
    await runCommand(context, agentPath, {});
    const { runId, checks } = values[0] as { runId: string; checks: { passed: boolean; trouble: string[] } };
    // It may have ended by itself.
    await server.client.workflow
      .getHandle(runId)
      .terminate()
      .catch(() => undefined);
    return { text: lines.join('\n'), checks };
  };
  const alone = await started();
  expect(alone.text).toMatch(
    /^started run-desk.*\n(It goes on beside .*\n)?it does not go on:\nNo worker asks for work on whet-orchestration/,
  );
  const { activities } = fakeActivities({});
  const { prepareRun } = activities.orchestration;
  activities.orchestration.prepareRun = async () => {
    throw ApplicationFailure.nonRetryable('model.name is other, but base is served', 'Spec.Invalid');
  };
  await withWorkers(server, activities, async () => {
    const { checks } = await started();
    expect(checks.passed).toBe(false);
    expect(checks.trouble.join('\n')).toContain('model.name is other, but base is served');
  });
  await withWorkers(server, { ...activities, orchestration: { ...activities.orchestration, prepareRun } }, async () => {
    expect((await started()).text).toContain('its first checks passed: agent.yaml, environment, model,');
  });
});

test('a run that is started beside another one of its agent says so', async () => {
  const first = await startRun();
  const isListed = async () => {
    for await (const { workflowId, status } of server.client.workflow.list())
      if (workflowId === first) return status.name === 'RUNNING';
    return false;
  };
  while (!(await isListed())) await sleep(100);
  const { context, lines, values } = capture();
  await runCommand(context, agentPath, {});
  const { runId, beside } = values[0] as { runId: string; beside: string[] };
  expect(beside).toContain(first);
  expect(beside).not.toContain(runId);
  expect(lines.join('\n')).toMatch(/^started .*\nIt goes on beside .*`whet cancel run-desk-\S+` ends/);
  await server.client.workflow.getHandle(first).terminate();
  await server.client.workflow.getHandle(runId).terminate();
});

test('a run whose notices are not signed says so when it is started', async () => {
  process.env['WHET_WEBHOOK_URL'] = 'https://hooks.example.org/x';
  try {
    const { context, lines, values } = capture();
    await runCommand(context, agentPath, {});
    expect(lines.join('\n')).toMatch(/Notices to WHET_WEBHOOK_URL are not signed, .*WHET_WEBHOOK_SECRET is not set/);
    const { runId, warning } = values[0] as { runId: string; warning: string };
    expect(lines.join('\n')).toContain(warning);
    await server.client.workflow.getHandle(runId).terminate();
  } finally {
    delete process.env['WHET_WEBHOOK_URL'];
  }
});

test('a run is followed stage by stage, waits for its approval and ends with its verdict', async () => {
  const { activities } = fakeActivities({ approval: true });
  await withWorkers(server, activities, async () => {
    const runId = await startRun();
    const { context, lines } = capture();
    const following = followRun(server.client, runId, context.out, new AbortController().signal);
    await untilWhy(runId, /It waits .*\. promote: .*whet approve/);
    await approveCommand(capture().context, runId);
    const state = await following;
    expect(state.result?.verdict).toBe('promoted');
    const text = lines.join('\n');
    expect(text).toMatch(/collect +done .* 100 rollouts, 40 successes/);
    expect(text).toMatch(/report +done/);

    const status = capture();
    await statusCommand(status.context, runId, {});
    expect(status.lines.join('\n')).toMatch(/: promoted\ncollect +done[\s\S]*It ended after .*: promoted\./);
    await expect(approveCommand(capture().context, runId)).rejects.toThrow(/has ended \(promoted\)/);
  });
});

test('a run that is to end after identification ends there, and every command says so', async () => {
  const { activities } = fakeActivities({ kept: ['a'] });
  await withWorkers(server, activities, async () => {
    const started = capture();
    await runCommand(started.context, agentPath, { until: 'identify' });
    const { runId } = started.values[0] as { runId: string };
    expect(await server.client.workflow.getHandle(runId).result()).toMatchObject({ verdict: 'diagnosed' });
    const status = capture();
    await statusCommand(status.context, runId, {});
    expect(status.lines.join('\n')).toMatch(/sharpen +skipped .*the run was to end before it/);
    expect(await why(runId)).toMatch(
      /It ended after .*: diagnosed\.[^]*kept 1 of .*[^]*nothing was trained, evaluated/,
    );
    const listed = async (): Promise<string> => {
      const ls = capture();
      await lsCommand(ls.context, { agent: 'desk', limit: 50 });
      return (
        ls.lines
          .join('\n')
          .split('\n')
          .find((line) => line.startsWith(runId)) ?? ''
      );
    };
    while (!/completed/.test(await listed())) await sleep(100);
    expect(await listed()).toMatch(/diagnosed/);
    await expect(answerCommand(capture().context, 'retry', runId, undefined)).rejects.toThrow(
      /has ended \(diagnosed\)/,
    );
  });
});

test('a night has all stages', async () => {
  const nightly = { cron: '0 3 * * *', jitter: '10m', catchUp: '6h', timezone: 'UTC', until: 'identify' };
  await expect(scheduleCommand(capture().context, agentPath, nightly)).rejects.toMatchObject({
    exitCode: 2,
    message: `--until identify: a night has all stages. A single run may end earlier: whet run ${agentPath} --until identify`,
  });
});

test('a capability that waits is answered by skip', async () => {
  const { activities } = fakeActivities({ kept: ['a'], rejectedAttempts: { a: 99 } });
  await withWorkers(server, activities, async () => {
    const runId = await startRun();
    await untilWhy(runId, /It waits .*\. a: No environment .*whet skip/);
    await answerCommand(capture().context, 'skip', runId, 'a');
    const result = (await server.client.workflow.getHandle(runId).result()) as { verdict: string; reasons: string[] };
    expect(result.verdict).toBe('nothing-trained');
    expect(result.reasons).toEqual([expect.stringMatching(/^a has no adapter: No environment for .* passed/)]);
  });
});

test('retry is refused when the run does not wait', async () => {
  const { activities } = fakeActivities({});
  const release = new AbortController();
  const collectTrajectories = async () => {
    await new Promise((resolve) => release.signal.addEventListener('abort', resolve));
    return (await activities.sandbox.collectTrajectories?.({} as never)) as never;
  };
  await withWorkers(server, { ...activities, sandbox: { ...activities.sandbox, collectTrajectories } }, async () => {
    const runId = await startRun();
    await untilWhy(runId, /stage 1 of 6, collect/);
    await expect(answerCommand(capture().context, 'retry', runId, undefined)).rejects.toThrow(
      /does not wait for a person/,
    );
    release.abort();
    await server.client.workflow.getHandle(runId).result();
  });
});

test('ls finds the runs of an agent, the newest first, and refuses a name that is none', async () => {
  const { activities } = fakeActivities({});
  const runId = await withWorkers(server, activities, async () => {
    const id = await startRun();
    await server.client.workflow.getHandle(id).result();
    return id;
  });
  const find = async () => {
    const { context, values } = capture();
    await lsCommand(context, { agent: 'desk', limit: 5 });
    return (values[0] as { runId: string; verdict: string | null }[]).find(
      (row) => row.runId === runId && row.verdict === 'promoted',
    );
  };
  // Visibility follows a moment later.
  while ((await find()) === undefined) await sleep(100);
  await expect(lsCommand(capture().context, { agent: "x' OR 1=1", limit: 5 })).rejects.toThrow(/an agent's name/);
});

test('cancel waits until the trainers have stopped, can be asked again, and says so of a run that has ended', async () => {
  const { activities } = fakeActivities({ kept: ['a'] });
  let stopped = false;
  const trainAdapter = async () => {
    const { cancelled } = ActivityContext.current();
    const beat = setInterval(() => ActivityContext.current().heartbeat(), 100);
    try {
      return await cancelled;
    } finally {
      clearInterval(beat);
      stopped = true;
    }
  };
  await withWorkers(server, { ...activities, jobs: { ...activities.jobs, trainAdapter } }, async () => {
    const runId = await startRun();
    await untilWhy(runId, /Training an adapter/);
    const early = capture();
    await cancelCommand(early.context, runId, { wait: false });
    expect(early.values).toEqual([{ runId, status: 'cancelling', asked: true }]);
    const asked = capture();
    await cancelCommand(asked.context, runId, { wait: true });
    expect(stopped).toBe(true);
    expect(asked.values).toEqual([{ runId, status: 'cancelled', asked: expect.any(Boolean) }]);
    const again = capture();
    await cancelCommand(again.context, runId, { wait: true });
    expect(again.lines.join('\n')).toMatch(/has ended already \(cancelled\); there is nothing to stop/);
  });
});

test('a schedule is made, replaced and deleted', async () => {
  const flags = { jitter: '10m', catchUp: '6h', timezone: 'UTC' };
  const made = capture();
  await scheduleCommand(made.context, agentPath, { ...flags, cron: '0 2 * * *' });
  expect(made.lines.join('\n')).toMatch(/whet-desk: created, next runs at \d{4}-.*T02:/);
  const description = await server.client.schedule.getHandle('whet-desk').describe();
  expect(description.policies).toMatchObject({ overlap: 'ALLOW_ALL', catchupWindow: 6 * 3_600_000 });
  expect(description.spec.jitter).toBe(600_000);

  const replaced = capture();
  await scheduleCommand(replaced.context, agentPath, { ...flags, cron: '30 4 * * *' });
  expect(replaced.lines.join('\n')).toMatch(/whet-desk: replaced, next runs at .*T04:/);

  await expect(scheduleCommand(capture().context, agentPath, { ...flags, cron: 'every night' })).rejects.toMatchObject({
    exitCode: 2,
  });
  const deleted = capture();
  await scheduleCommand(deleted.context, agentPath, { ...flags, delete: true });
  expect(deleted.lines.join('\n')).toBe('whet-desk: deleted');
});

test('a scheduled run takes its id from the workflow that the server started', async () => {
  const { activities } = fakeActivities({});
  const flags = { jitter: '0s', catchUp: '6h', timezone: 'UTC' };
  await scheduleCommand(capture().context, agentPath, { ...flags, cron: '0 2 * * *' });
  const handle = server.client.schedule.getHandle('whet-desk');
  await withWorkers(server, activities, async () => {
    await handle.trigger();
    let started: { workflowId: string } | undefined;
    while (started === undefined) {
      await sleep(100);
      started = (await handle.describe()).info.recentActions.map((action) => action.action.workflow)[0];
    }
    const result = (await server.client.workflow.getHandle(started.workflowId).result()) as { runId: string };
    expect(result.runId).toBe(started.workflowId);
    expect(result.runId).toMatch(/^run-desk-\d{4}-/);
  });
  await handle.delete();
});

test('Ctrl-C ends a command that follows a run, and says that the run goes on', async () => {
  const { context, lines } = capture();
  const following = runCommand(context, agentPath, { seed: 7, follow: true });
  while (!lines.some((line) => line.startsWith('started '))) await sleep(20);
  const runId = lines.find((line) => line.startsWith('started '))!.slice('started '.length);
  while (process.listenerCount('SIGINT') === 0) await sleep(20);
  process.emit('SIGINT');
  await expect(following).rejects.toMatchObject({
    type: 'Run.GoesOn',
    message: `${runId} goes on. \`whet status ${runId} --follow\` shows it again; \`whet cancel ${runId}\` ends it for good.`,
  });
  expect(process.listenerCount('SIGINT')).toBe(0);
  const { status } = await server.client.workflow.getHandle(runId).describe();
  expect(status.name).toBe('RUNNING');
  await server.client.workflow.getHandle(runId).terminate();
});

test('a server that is not there and a run that is not there are sentences', async () => {
  await expect(lsCommand(capture('127.0.0.1:1').context, { limit: 1 })).rejects.toThrow(
    'No Temporal server answers at 127.0.0.1:1, the value of TEMPORAL_ADDRESS. Start that server, correct the variable, ' +
      'or unset it: `whet up AGENT_YAML` then starts a server here.',
  );
  const { context } = capture();
  const settings = { ...context.settings, temporalAddress: null, ports: { ...context.settings.ports, temporal: 1 } };
  await expect(lsCommand({ ...context, settings }, { limit: 1 })).rejects.toThrow(
    'No Temporal server answers at 127.0.0.1:1. Start one with `whet up AGENT_YAML`, or set TEMPORAL_ADDRESS',
  );
  await expect(statusCommand(capture().context, 'run-desk-nothing', {})).rejects.toThrow(
    /There is no run run-desk-nothing at .*whet ls/,
  );
});

test('the state of a run with no worker has no progress and names its pending step', async () => {
  const runId = await startRun();
  const state = await readRunState(server.client, runId);
  expect(state.progress).toBeNull();
  expect(state.steps).toMatchObject([{ workflowId: runId, taskQueue: 'whet-orchestration' }]);
  await server.client.workflow.getHandle(runId).terminate();
});
