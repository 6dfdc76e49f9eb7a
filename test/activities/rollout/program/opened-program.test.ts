// Tier: integration (real programs).
import { join, resolve } from 'node:path';
import { paidBy } from '../../../../activities/environment';
import { readTargetProfile } from '../../../../activities/environment-checks/target-profile';
import { OpenedProgram } from '../../../../activities/rollout/program/opened-program';
import type { AgentSpec } from '../../../../contracts/config/agent-spec';
import { environmentSchema } from '../../../../contracts/config/environment-kinds';
import { ownerEnvironment } from '../../../../loaders/owner-environment';
import { launchProgram, type ProgramSource } from '../../../../sandbox';
import { PlayerFixture } from './player-fixture';

let fixture: PlayerFixture;
let opened: OpenedProgram;
beforeEach(async () => {
  fixture = await new PlayerFixture().start(() => ({ content: 'never asked' }));
});
afterEach(async () => {
  await opened.close();
  await fixture.stop();
});

const open = (program: string | readonly string[], seconds = 600) => {
  const environment = fixture.sourceOf(program, { seconds: { episode: seconds, score: 600 } });
  opened = new OpenedProgram(environment, launchProgram);
};

test('its tools and the beginning of an episode are known without a question to the model', async () => {
  open(['python3', resolve('examples/orders-desk/program/agent.py')]);
  const { tools, hasSay } = await opened.describe();
  expect(tools.map((tool) => tool.function.name)).toContain('verify_user');
  expect(hasSay).toBe(false);
  const { messages } = await opened.reset('a', 3);
  expect(messages.map(({ role }) => role)).toEqual(['system', 'user']);
  expect((await opened.reset('b', 3)).messages).toEqual(messages);
  expect((await opened.reset('c', 4)).messages).not.toEqual(messages);
  expect(fixture.server.requests).toEqual([]);
});

test('a profile of its tasks can be made, without solutions and without moves', async () => {
  const command = ['python3', resolve('examples/orders-desk/program/agent.py')];
  const environment = paidBy(fixture.sourceOf(command), null);
  open(command);
  const spec = { trainSeeds: { start: 0, count: 4 }, heldOutSeeds: { start: 1_000_000, count: 2 }, maxTurns: 6 };
  const { signal } = fixture.abort;
  const profile = await readTargetProfile({ openEnvironment: async () => opened, environment, spec, signal });
  expect(profile.tools.map((tool) => tool.function.name)).toContain('verify_user');
  expect(profile.train.length).toBeGreaterThan(0);
  expect(profile.solved).toEqual([]);
  expect(fixture.server.requests).toEqual([]);
});

test('its tools are those of the first task to learn from', async () => {
  const { command } = fixture.sourceOf(`
import json, sys
raise SystemExit(f"asked for {json.load(sys.stdin)['seed']}")`).launch;
  const seeds = { trainSeeds: { start: 1000, count: 4 }, heldOutSeeds: { start: 0, count: 2 } };
  const told = { kind: 'program', command: [...command], ...seeds, maxTurns: 2, successReward: 1 };
  const spec = { name: 'desk', environment: environmentSchema.parse(told) } as AgentSpec;
  const { source } = ownerEnvironment(spec, join(fixture.folder, 'agent.yaml'));
  opened = new OpenedProgram(source as ProgramSource, launchProgram);
  await expect(opened.describe()).rejects.toThrow('asked for 1000');
});

test.each([
  ['ends', 'raise SystemExit("no tasks here")', 'no-request', 600],
  ['asks nothing in time', 'import time; time.sleep(3600)', 'deadline', 1],
])('a program that %s has no beginning', async (_, program, taskCause, seconds) => {
  open(program, seconds);
  await expect(opened.describe()).rejects.toMatchObject({ type: 'Sandbox.TaskFailed', taskCause });
});

test.each([
  ['begins', 'urllib.request.urlopen(urllib.request.Request(url, body, headers))', null],
  ['fails', 'raise SystemExit(1)', 'no-request'],
])('what a simulated user spends before an episode %s is known', async (_, then, taskCause) => {
  open(`
import json, os, urllib.request
json.dump({"usage": {"promptTokens": 9, "completionTokens": 3}}, open(os.environ["RESULT_FILE"], "w"))
url = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
headers = {"content-type": "application/json", "authorization": "Bearer " + os.environ["OPENAI_API_KEY"]}
body = json.dumps({"model": os.environ["OPENAI_MODEL"], "messages": [{"role": "user", "content": "go"}]}).encode()
${then}`);
  const spent = { promptTokens: 9, completionTokens: 3 };
  const reset = opened.reset('a', 1);
  if (taskCause !== null) return expect(reset).rejects.toMatchObject({ taskCause, spent });
  await reset;
  expect(await opened.drop('a')).toEqual(spent);
  expect(await opened.drop('a')).toBeNull();
});

test('a program that counts tokens before its first request goes on', async () => {
  open(`
import json, os, urllib.request
def post(path, **body):
    headers = {"content-type": "application/json", "authorization": "Bearer " + os.environ["OPENAI_API_KEY"]}
    body = json.dumps({"model": os.environ["OPENAI_MODEL"], "messages": [{"role": "user", "content": "go"}], **body})
    return urllib.request.urlopen(urllib.request.Request(os.environ["OPENAI_BASE_URL"] + path, body.encode(), headers))
assert json.load(post("/messages/count_tokens"))["input_tokens"] > 0
post("/chat/completions")`);
  expect((await opened.reset('a', 1)).messages).toEqual([{ role: 'user', content: 'go' }]);
});

test('no more are opened at a time than the memory has room for', async () => {
  const environment = fixture.sourceOf('import time; time.sleep(3600)', { memoryPerEpisode: 1_000_000 });
  let started = 0;
  const launch: typeof launchProgram = (...program) => {
    started++;
    return launchProgram(...program);
  };
  opened = new OpenedProgram(environment, launch);
  const waiting = [1, 2, 3].map((seed) => opened.reset('a', seed).catch((error: { type: string }) => error.type));
  while (started === 0) await new Promise((resolve) => setTimeout(resolve, 10));
  await opened.close();
  expect(await Promise.all(waiting)).toEqual(Array(3).fill('Sandbox.EnvironmentClosed'));
  expect(started).toBe(1);
});

test('closing ends what waits', async () => {
  open('import time; time.sleep(3600)');
  const waiting = opened.reset('a', 1).catch((error: unknown) => error);
  await opened.close();
  expect(await waiting).toMatchObject({ type: 'Sandbox.EnvironmentClosed' });
  expect(opened.alive).toBe(false);
});
