// tier: integration
import { collectTrajectories } from '../../../activities/collect';
import type { Conversation, Outcome } from '../../../contracts/artifacts/conversation';
import type { PreparedSpec } from '../../../contracts/artifacts/prepared-spec';
import { trajectorySchema } from '../../../contracts/artifacts/trajectory';
import { agentSpecSchema } from '../../../contracts/config/agent-spec';
import { CONVERSATIONS } from '../../../contracts/config/environment-kinds';
import { CONVERSATION_FACTS } from '../../../contracts/config/environment-kinds/facts';
import { getLines, layout, putJson, putLines, readIngested } from '../../../store';
import { RunFixture } from '../run-fixture';

const AT = '2026-11-01T00:00:00.000Z';
const conversation = (id: string): Conversation => ({
  ...{ id, format: 'openai', model: 'some-model', startedAt: null, at: AT },
  messages: [
    { role: 'user', content: `question ${id}` },
    { role: 'assistant', content: `answer ${id}` },
  ],
});
const outcome = (id: string, success: boolean): Outcome => ({
  ...{ conversation: id, success, reward: success ? 1 : 0, from: 'trace', at: AT },
});

describe('conversations in place of rollouts', () => {
  const fixture = new RunFixture();
  afterAll(() => fixture.dispose());
  const { store } = fixture;

  /** Ingests conversations, of which so many have an outcome, and collects them. */
  const collect = async (
    agent: string,
    { successes, failures, open = 0 }: { successes: number; failures: number; open?: number },
  ) => {
    const ids = Array.from({ length: successes + failures + open }, (_, i) => `c${i}`);
    await putLines(store, layout.ingestedConversations(agent), 'conversations.jsonl', ids.map(conversation));
    const judged = ids.slice(0, successes + failures).map((id, i) => outcome(id, i < successes));
    await putLines(store, layout.ingestedOutcomes(agent), 'outcomes.jsonl', judged);
    const spec = agentSpecSchema.parse({
      ...{ version: 1, name: agent, environment: CONVERSATIONS },
      identify: { minEachOutcome: 3 },
    });
    const prepared: PreparedSpec = {
      ...{ spec, environmentPath: '/agent.yaml', environmentSha256: '0', facts: CONVERSATION_FACTS },
      ...{ modelBaseUrl: '', modelPath: null, baseModelSha256: '0' },
      servedModel: { weightsSha256: null, root: null, maxModelLength: null },
      analyst: { baseUrl: 'http://127.0.0.1:1/v1', model: 'none', displayName: 'none' },
      sandbox: { mode: 'unused', detail: '' },
    };
    const context = { runId: `run-${agent}`, agent, seed: 1 };
    const ref = await putJson(store, layout.run(context.runId), 'spec.json', prepared);
    return fixture.run(collectTrajectories.bind(null, fixture.deps), { ...context, spec: ref });
  };

  test('those with an outcome are collected, and nothing is played', async () => {
    const summary = await collect('desk', { successes: 4, failures: 3, open: 2 });
    expect(summary).toMatchObject({
      ...{ episodes: 7, successes: 4, failures: 3, live: 7, ingested: 7, withoutOutcome: 2 },
      ...{ promptTokens: 0, completionTokens: 0 },
    });
    const { trajectories } = await readIngested(store, 'desk');
    expect(await getLines(store, summary.trajectories, trajectorySchema)).toEqual(trajectories);
  });

  test('a conversation that is also live traffic counts once, whatever model answered it', async () => {
    const { trajectories } = await readIngested(store, 'desk');
    const other = { ...trajectories[0]!, id: '1'.repeat(64), task: { seed: 5, split: 'live' as const } };
    // The gateway's own line of a conversation that was ingested without its personal data.
    const unredacted = { ...trajectories[1]!, id: '2'.repeat(64) };
    const day = new Date().toISOString().slice(0, 10);
    await putLines(store, layout.traces('desk', day), 'live.jsonl', [trajectories[0]!, unredacted, other]);
    expect(await collect('desk', { successes: 4, failures: 3 })).toMatchObject({ episodes: 8, ingested: 7, live: 8 });
  });

  test('too few of an outcome end the run, with the number that is missing', async () => {
    await expect(collect('few', { successes: 8, failures: 2, open: 5 })).rejects.toMatchObject({
      type: 'Collect.TooFewToContrast',
      message:
        '10 conversations with an outcome: 8 successes, 2 failures. Contrasting them needs at least 3 of each: ' +
        '1 failure more. By the share so far, that takes about 6 more conversations. ' +
        '5 further conversations have no outcome: give theirs to `whet ingest` first.',
    });
    await expect(collect('none', { successes: 0, failures: 0, open: 1 })).rejects.toThrow(/have no outcomes/);
    await expect(collect('good', { successes: 9, failures: 0 })).rejects.toThrow(
      /There are no failures at all: .* --pass/,
    );
  });
});
