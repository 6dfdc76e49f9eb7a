// tier: integration
import { CancelledFailure } from '@temporalio/common';
import { createAnalystFactory } from '../../../activities/analyst/analyst-factory';
import { readAnalystUse } from '../../../activities/analyst/budget-meter';
import { consensusLabelSchema } from '../../../contracts/artifacts/identification';
import type { AgentSpecInput } from '../../../contracts/config/agent-spec';
import { getLines, layout } from '../../../store';
import {
  startFakeAnalyst,
  type FakeAnalystAnswer,
  type FakeAnalyst,
  type FakeAnalystRequest,
} from '../../fakes/analyst-endpoint';
import { syntheticAnswer, syntheticEpisode } from '../../fakes/synthetic-episodes';
import { startFakeBatchEndpoint } from '../../fakes/batch-endpoint';
import { IdentifyWorld } from './identify-world';

const isLabel = (request: FakeAnalystRequest) => request.body.response_format?.json_schema.name === 'label';
const promptOf = (request: FakeAnalystRequest) => request.body.messages[1]?.content ?? '';

let stub: FakeAnalyst;
let world: IdentifyWorld;
let special: (request: FakeAnalystRequest) => FakeAnalystAnswer | null = () => null;

async function open(
  analyst: AgentSpecInput['analyst'] = {},
  more: Partial<AgentSpecInput> = {},
): Promise<IdentifyWorld> {
  special = () => null;
  stub = await startFakeAnalyst((request) => special(request) ?? syntheticAnswer(request));
  world = new IdentifyWorld(stub.url, { analyst: { concurrency: 8, maxReasks: 2, ...analyst }, ...more }, (store) =>
    createAnalystFactory(store, 'x'),
  );
  return world;
}

afterEach(async () => {
  await stub.close();
  await world.fixture.dispose();
});

test('interrupted at half, with 100 trajectories more in the next run: only the pairs without a label are asked', async () => {
  await open();
  const { plan, labelling } = await world.plan(await world.input(60, 'run-1'));
  for (let chunk = 0; chunk < plan.chunks / 2; chunk++) {
    const environment = world.fixture.activity();
    let asked = 0;
    // The last of them is cut off in its middle.
    special = (request) => {
      if (chunk === plan.chunks / 2 - 1 && isLabel(request) && ++asked === 35) environment.cancel('CANCELLED');
      return null;
    };
    await world.label(labelling, chunk, environment).catch((error: unknown) => {
      if (!(error instanceof CancelledFailure)) throw error;
    });
  }
  special = () => null;
  const labelled = (await readAnalystUse(world.fixture.store, 'run-1')).label?.calls ?? 0;
  expect(labelled).toBeGreaterThanOrEqual(140 + 25);
  expect(labelled).toBeLessThan(210);
  const { totals } = await world.identify(await world.input(160, 'run-2'));
  expect(totals).toMatchObject({ asked: 160 * 7 - labelled, reused: labelled, unlabelled: 0 });
  const keys = stub.requests.filter(isLabel).map(({ headers }) => headers['idempotency-key']);
  expect(new Set(keys).size).toBe(160 * 7);
  // The answers that were under way when the activity was cancelled were kept.
  expect(keys).toHaveLength(160 * 7);
});

test('all capabilities of a trajectory are asked one after the other, with the same beginning', async () => {
  await open({ concurrency: 1 });
  const { labelling } = await world.plan(await world.input(10));
  await world.label(labelling, 0);
  const prompts = stub.requests.filter(isLabel).map(promptOf);
  const numbers = prompts.map((prompt) => Number(/Please do number (\d+)\./.exec(prompt)?.[1]));
  expect(numbers).toEqual(Array.from({ length: 70 }, (_, i) => Math.floor(i / 7)));
  const beginnings = prompts.slice(0, 7).map((prompt) => prompt.slice(0, prompt.indexOf('\nCapability: ')));
  expect(new Set(beginnings).size).toBe(1);
  expect(beginnings[0]?.length).toBeGreaterThan(200);
});

test('a step that the episode does not have is asked again with the numbers it has', async () => {
  await open();
  special = (request) => {
    if (!isLabel(request) || request.body.messages.length > 2 || !promptOf(request).includes('Please do number 2.'))
      return null;
    return { content: '{"reason":"see message 40","step":40,"label":"LACKING"}' };
  };
  const { totals } = await world.identify(await world.input(60));
  expect(totals).toMatchObject({ asked: 420, unlabelled: 0 });
  const again = stub.requests.filter((request) => isLabel(request) && request.body.messages.length > 2);
  expect(again).toHaveLength(7);
  expect(again[0]?.body.messages.at(-1)?.content).toContain(
    `"step" is 40, but the episode's messages have the numbers 0 to 3`,
  );
  expect((await readAnalystUse(world.fixture.store, 'run-1')).label).toMatchObject({
    calls: 420,
    asks: 427,
    unanswered: 0,
  });
});

test('with more than 5 % unlabelled the stage ends with a failure that pauses the run, and the count says how many', async () => {
  await open();
  special = (request) =>
    isLabel(request) && promptOf(request).includes('do number 3') ? { content: '', refusal: 'I will not.' } : null;
  await expect(world.identify(await world.input(60))).rejects.toMatchObject({ type: 'Identify.TooManyUnlabelled' });
  const { label } = await readAnalystUse(world.fixture.store, 'run-1');
  expect(label?.unanswered).toBeGreaterThan(21);
  expect(label?.asks).toBe((label?.calls ?? 0) + 2 * (label?.unanswered ?? 0));
});

test('what must not leave does not: the analyst sees placeholders, the labels the values', async () => {
  await open({ redaction: { when: 'always', patterns: [{ name: 'customer', pattern: 'number \\d+' }] } });
  const mail = 'ana.ruiz@example.com';
  const episodes = Array.from({ length: 40 }, (_, i) => {
    const episode = syntheticEpisode(i);
    episode.messages.push({ role: 'assistant', content: `I wrote to ${mail}.` });
    return episode;
  });
  special = (request) => {
    if (!isLabel(request)) return null;
    const placeholder = /\[email:\w+\]/.exec(promptOf(request))?.[0];
    return { content: JSON.stringify({ reason: `it wrote to ${placeholder}`, step: 4, label: 'PRESENT' }) };
  };
  const { result } = await world.identify(await world.inputOf(episodes, 'run-1', 'm-1'));
  for (const { body } of stub.requests) expect(JSON.stringify(body.messages)).not.toMatch(/ana\.ruiz|number \d/);
  const labels = await getLines(world.fixture.store, result.labels, consensusLabelSchema);
  expect(new Set(labels.map(({ reason }) => reason))).toEqual(new Set([`it wrote to ${mail}`]));
  expect((await readAnalystUse(world.fixture.store, 'run-1')).label?.redacted).toMatchObject({
    email: 280,
    customer: 280,
  });
});

test('an episode that is too long is shortened, says so, and is counted', async () => {
  await open({ maxPromptTokens: 2_000 });
  const episodes = Array.from({ length: 40 }, (_, i) => syntheticEpisode(i, i === 5 ? 7_000 : 100));
  await world.identify(await world.inputOf(episodes, 'run-1', 'm-1'));
  const shortened = stub.requests.filter(
    (request) => isLabel(request) && promptOf(request).includes('This episode was too long'),
  );
  expect(shortened).toHaveLength(7);
  expect(promptOf(shortened[0] as FakeAnalystRequest)).toContain('[3] tool: [');
  expect((await readAnalystUse(world.fixture.store, 'run-1')).label?.shortened).toBe(7);
});

test('a spent budget stops the chunk; what was paid for is kept, and the rest is asked when it was raised', async () => {
  await open({ concurrency: 4 }, { budget: { tokens: 30 * 110 + 20 } });
  const { plan, labelling } = await world.plan(await world.input(10));
  expect(plan.calls).toBe(70);
  await expect(world.label(labelling, 0)).rejects.toMatchObject({ type: 'Budget.Spent', nonRetryable: true });
  const paid = stub.requests.filter(isLabel).length;
  expect(paid).toBeGreaterThan(20);
  expect(paid).toBeLessThanOrEqual(29);
  await world.fixture.store.swapDocument(layout.budget('run-1'), { tokens: 100_000 }, null);
  await expect(world.label(labelling, 0)).resolves.toMatchObject({ asked: 70, unlabelled: 0 });
  expect(stub.requests.filter(isLabel)).toHaveLength(70);
});

test('in mode batch a chunk is one batch, at its own price; what it has no valid answer for is asked directly', async () => {
  await open();
  const endpoint = await startFakeBatchEndpoint(
    (body, inBatch) => {
      if (inBatch && body.messages[1]?.content.includes('Please do number 4.')) return 'not JSON';
      return (syntheticAnswer({ path: '', headers: {}, body }) as { content: string }).content;
    },
    { polls: 0 },
  );
  const batched = new IdentifyWorld(endpoint.url, { analyst: { mode: 'batch' } }, (store) =>
    createAnalystFactory(store, 'x'),
  );
  try {
    const { totals } = await batched.identify(await batched.input(60));
    expect(totals).toMatchObject({ asked: 420, unlabelled: 0, promptTokens: 42_700 });
    expect(endpoint.batches).toHaveLength(6);
    expect(endpoint.direct.filter((body) => body.response_format?.json_schema.name === 'label')).toHaveLength(7);
    expect(await readAnalystUse(batched.fixture.store, 'run-1')).toMatchObject({
      'label-batch': { calls: 413, asks: 420, promptTokens: 42_000 },
      label: { calls: 7, asks: 7, promptTokens: 700 },
    });
    const again = await batched.identify(await batched.input(60, 'run-2'));
    expect(again.totals).toMatchObject({ asked: 0, reused: 420 });
    expect(endpoint.batches).toHaveLength(6);
  } finally {
    await endpoint.close();
    await batched.fixture.dispose();
  }
});
