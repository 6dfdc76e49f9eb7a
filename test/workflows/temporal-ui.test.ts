// integration: what a run looks like in Temporal's UI, on a real Temporal server, with fakes of the activities.
import { ApplicationFailure, defaultPayloadConverter } from '@temporalio/common';
import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { childWorkflowId, MESSAGES } from '../../contracts/names';
import { fakeActivities } from '../fakes/activities';
import { startRun, until } from '../helpers/runs';
import { startTemporal, withWorkers } from '../helpers/temporal';

let temporal: TestWorkflowEnvironment;
beforeAll(async () => void (temporal = await startTemporal()));
afterAll(() => temporal.teardown());

/** The rows of a workflow's timeline: what happened, with its name and the text beside it. */
async function timeline(workflowId: string): Promise<{ row: string; summary: string }[]> {
  const { events } = await temporal.client.workflow.getHandle(workflowId).fetchHistory();
  return (events ?? []).flatMap((event) => {
    const row =
      event.activityTaskScheduledEventAttributes?.activityType?.name ??
      event.startChildWorkflowExecutionInitiatedEventAttributes?.workflowType?.name ??
      event.workflowExecutionSignaledEventAttributes?.signalName;
    if (row == null) return [];
    const { summary } = event.userMetadata ?? {};
    return [{ row, summary: summary == null ? '' : defaultPayloadConverter.fromPayload<string>(summary) }];
  });
}

test('each row of the timeline is named by what it works on, and few rows are notes', async () => {
  const { activities } = fakeActivities({ kept: ['a', 'b'], mixedAdapter: true });
  await withWorkers(temporal, activities, async () => {
    const { runId, result } = await startRun(temporal);
    expect((await result()).verdict).toBe('promoted');
    const run = await timeline(runId);
    const work = run.filter(({ row }) => row !== MESSAGES.statusSignal);
    expect(work.filter(({ summary }) => summary === '')).toEqual([]);
    const summaries = work.map(({ summary }) => summary);
    expect(summaries).toEqual(
      expect.arrayContaining(
        ['base', 'a', 'b', 'mixed', 'routed'].map((arm) => expect.stringContaining(arm) as string),
      ),
    );
    for (const capability of ['Capability a', 'Capability b']) expect(summaries).toContain(`sharpen: ${capability}`);
    // A note for each capability says more than the rows do: which attempt at its environment was accepted.
    expect(run.length - work.length).toBeLessThanOrEqual(2);
    const child = await timeline(childWorkflowId.sharpen(runId, 'a'));
    expect(child.map(({ row }) => row)).toContain('trainAdapter');
    for (const { summary } of child) expect(summary).toContain('Capability a');
    const identify = await timeline(childWorkflowId.identify(runId));
    expect(identify.filter(({ summary }) => summary === '')).toEqual([]);
  });
});

test.each([
  ['a link', '[free](https://evil.example)', '\\[free\\](https://evil.example)'],
  ['an image', '![x](https://evil.example/p.png)', '!\\[x\\](https://evil.example/p.png)'],
  ['emphasis', '**done** _and_ `code` ~~gone~~', '\\*\\*done\\*\\* \\_and\\_ \\`code\\` \\~\\~gone\\~\\~'],
  ['markup and entities', '<b>x</b> &lt;', '\\<b\\>x\\</b\\> \\&lt;'],
  ['lines of its own', 'a\n\n# b\r\n| c |', 'a \\# b \\| c \\|'],
  ['what a terminal obeys', 'a\u001b[2J\u202eb', 'a\\\\u202eb'],
  ['far too many characters', '*'.repeat(1_000), '\\*'.repeat(60)],
  ['characters of three bytes', '注'.repeat(1_000), '注'.repeat(60)],
])('the name of a capability with %s is no markup in any summary or detail', async (_, name, shown) => {
  const { activities } = fakeActivities({ kept: ['a'] });
  const { contrastCapabilities } = activities.llm;
  activities.llm.contrastCapabilities = async (input) => {
    const identified = await contrastCapabilities!(input);
    return { ...identified, kept: identified.kept.map((capability) => ({ ...capability, name })) };
  };
  await withWorkers(temporal, activities, async () => {
    const { runId, result } = await startRun(temporal);
    expect((await result()).verdict).toBe('promoted');
    const child = childWorkflowId.sharpen(runId, 'a');
    const named = [...(await timeline(runId)), ...(await timeline(child))].filter(({ summary }) =>
      /^(sharpen|environment|validate|calibrate|train)[: ]/.test(summary),
    );
    expect(named.length).toBeGreaterThanOrEqual(5);
    for (const { summary } of named) {
      expect(summary).toContain(shown);
      expect(Buffer.byteLength(summary)).toBeLessThan(400);
    }
  });
});

test('the details say for whom each part waits and since when, and stay one table', async () => {
  const { activities } = fakeActivities({ kept: ['a', 'b'] });
  const { trainAdapter } = activities.jobs;
  let fails = true;
  activities.jobs.trainAdapter = async (input) => {
    if (!fails) return trainAdapter!(input);
    throw ApplicationFailure.nonRetryable('| no GPU\n\n| on <b>any</b> node', 'Trainer.Unschedulable');
  };
  await withWorkers(temporal, activities, async () => {
    const { handle, result, answer, progress } = await startRun(temporal);
    await until(progress, ({ waits }) => waits.length === 2);
    const details = async () =>
      (await handle.query<{ currentDetails?: string }>('__temporal_workflow_metadata')).currentDetails ?? '';
    const waiting = await details();
    const table = waiting.split('\n').filter((line) => line.startsWith('|'));
    for (const line of table) expect(line.match(/(?<!\\)\|/g)).toHaveLength(5);
    expect(table).toHaveLength(8);
    for (const capability of ['a', 'b'])
      expect(waiting).toMatch(
        new RegExp(
          `^- \\*\\*${capability}\\*\\*, for the \\w+, since \\d{4}-\\d\\d-\\d\\d \\d\\d:\\d\\d UTC: .*no GPU`,
          'm',
        ),
      );
    fails = false;
    await answer({ answer: 'retry' });
    await result();
    const ended = await details();
    expect(ended).not.toContain('no GPU');
    expect(ended).not.toContain('Waiting for a person');
  });
});
