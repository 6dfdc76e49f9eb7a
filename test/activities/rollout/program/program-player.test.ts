// Tier: integration (real programs, fake model server).
import { existsSync, readFileSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { trajectorySchema } from '../../../../contracts/artifacts/trajectory';
import { planOf, PlayerFixture } from './player-fixture';

/** Asks once; `rest` is the end of the program. */
const asking = (rest: string, content = 'go'): string => `
import json, os, sys, time, urllib.request
task = json.load(sys.stdin)
def ask(messages, **more):
    body = json.dumps({"model": os.environ["OPENAI_MODEL"], "messages": messages, **more}).encode()
    headers = {"content-type": "application/json", "authorization": "Bearer " + os.environ["OPENAI_API_KEY"]}
    url = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
    return json.load(urllib.request.urlopen(urllib.request.Request(url, body, headers)))["choices"][0]["message"]
messages = [{"role": "user", "content": ${JSON.stringify(content)}}]
messages.append(ask(messages))
${rest}
`;
const print = (result: object) => `print(${JSON.stringify(JSON.stringify(result))})`;

let fixture: PlayerFixture;
beforeEach(async () => {
  fixture = await new PlayerFixture().start(({ messages }) => ({ content: `answer ${messages.length}` }));
});
afterEach(() => fixture.stop());

test('a program finds its task, its model and its files', async () => {
  const program = asking(`
assert json.load(open(os.environ["TASK_FILE"])) == task
assert os.environ["ANTHROPIC_API_KEY"] == os.environ["OPENAI_API_KEY"]
assert os.environ["OPENAI_AGENTS_DISABLE_TRACING"] == "1"
assert os.environ["OPENAI_BASE_URL"] == os.environ["ANTHROPIC_BASE_URL"] + "/v1"
messages.append({"role": "user", "content": json.dumps(task) + os.environ["WHET_EPISODE"]})
ask(messages)
more = '"tags": ["t"], "usage": {"promptTokens": 9, "completionTokens": 3}'
open(os.environ["RESULT_FILE"], "w").write('{"reward": 0.5, "diagnostics": {"verify": "present"}, ' + more + '}')
print("this is no result")`);
  const player = fixture.player(program, {}, ['first', 'second']);
  const played = trajectorySchema.parse(await fixture.play(player, planOf(1)));
  expect(fixture.failures).toEqual([]);
  const task = { task_id: 'second', seed: 1, model: 'desk', split: 'train', trial: 0, max_turns: 6 };
  const told = played.messages[2]!.content!;
  expect(JSON.parse(told.slice(0, -32))).toEqual(task);
  expect(played).toMatchObject({
    ...{ reward: 0.5, success: false, finish: 'done', steps: 0, tags: ['t'], diagnostics: { verify: 'present' } },
    usage: { promptTokens: 20, completionTokens: 10 },
    environmentUsage: { promptTokens: 9, completionTokens: 3 },
  });
  // The same in every attempt, and another for another episode.
  expect((await fixture.play(player, planOf(1))).id).toBe(played.id);
  expect((await fixture.play(player, planOf(1, 1))).messages[2]!.content!.slice(-32)).not.toBe(told.slice(-32));
});

test('the program of the docs plays', async () => {
  const page = readFileSync('docs/reference/protocols.md', 'utf8');
  const source = /^ {4}import json, os, sys, urllib[^]*?(?=\n\n\S)/m.exec(page)![0].replace(/^ {4}/gm, '');
  await fixture.stop();
  fixture = await new PlayerFixture().start(({ messages }) => {
    const asked = Number(/\d+/.exec(messages[0]!.content!)![0]);
    return { content: String(asked === 4 ? 4 : asked + 1) };
  });
  const player = fixture.player(source);
  expect(await fixture.play(player, planOf(3))).toMatchObject({ reward: 1, success: true, finish: 'done' });
  expect(await fixture.play(player, planOf(4))).toMatchObject({ reward: 0, success: false, finish: 'done' });
});

test('a program gets nothing of the environment of the worker but what its settings name', async () => {
  process.env['WHET_TEST_SECRET'] = 'named';
  process.env['WHET_TEST_OTHER'] = 'not named';
  const program = asking(`
named = sorted(name for name in os.environ if name.startswith("WHET"))
print(json.dumps({"reward": 1, "tags": named + [os.environ["WHET_TEST_SECRET"], os.environ["COLOUR"]]}))`);
  const player = fixture.player(program, { secrets: ['WHET_TEST_SECRET'], variables: { COLOUR: 'red' } });
  const { tags } = await fixture.play(player);
  expect(tags).toEqual(['WHET_EPISODE', 'WHET_TEST_SECRET', 'named', 'red']);
});

const MANY = Object.fromEntries(Array.from({ length: 257 }, (_, place) => [place, 'present']));
test.each<[what: string, program: string, cause: string, words: string, seconds?: number]>([
  ['another exit code', asking('print("{\\"reward\\": 1}"); sys.exit("no money left")'), 'exit', 'no money left'],
  ['a signal', asking('import signal; os.kill(os.getpid(), signal.SIGKILL)'), 'exit', 'SIGKILL'],
  ['output without end', asking('while True: sys.stdout.write("x" * 1_000_000)'), 'exit', 'It wrote more than'],
  ['errors without end', asking('while True: sys.stderr.write("x" * 1_000_000)'), 'exit', 'It wrote more than'],
  ['no result', asking(''), 'no-result', 'printed no result'],
  ['a result that is no JSON', asking('print("well done")'), 'no-result', 'not JSON'],
  ['a reward beyond 1', asking(print({ reward: 1.5 })), 'no-result', 'reward'],
  ['a reward that is no number', asking('print("{\\"reward\\": NaN}")'), 'no-result', 'not JSON'],
  ['an infinite reward', asking('print("{\\"reward\\": 1e999}")'), 'no-result', 'reward'],
  [
    'a result 100,000 levels deep',
    asking('print("{\\"reward\\": " + "[" * 100_000 + "]" * 100_000 + "}")'),
    'no-result',
    'reward',
  ],
  ['too many diagnostics', asking(print({ reward: 1, diagnostics: MANY })), 'no-result', 'at most 256'],
  ['an unknown member', asking(print({ reward: 1, sucess: true })), 'no-result', 'sucess'],
  ['a result without a request', print({ reward: 1 }), 'no-request', 'without a request'],
  ['a time that is over', asking('time.sleep(3600)'), 'deadline', 'more than 1 s', 1],
])('%s fails the episode, which keeps what was said', async (_, program, cause, words, seconds = 600) => {
  const player = fixture.player(program, { seconds: { episode: seconds, score: 600 } });
  const played = trajectorySchema.parse(await fixture.play(player));
  expect(played).toMatchObject({ finish: 'failed', failedBecause: cause, reward: 0, success: false });
  // How far a program comes in a second depends on the machine.
  if (cause !== 'deadline') expect(played.messages).toHaveLength(cause === 'no-request' ? 0 : 2);
  expect(fixture.failures.map(({ taskCause }) => taskCause)).toEqual([cause]);
  expect(fixture.failures[0]!.message).toContain(words);
});

describe('what a simulated user and a judge spent is known however the episode ended', () => {
  const usage = { promptTokens: 9, completionTokens: 3 };
  const says = print({ usage });
  const writes = `open(os.environ["RESULT_FILE"], "w").write(${JSON.stringify(JSON.stringify({ usage }))})`;

  test.each<[what: string, rest: string, cause: string, seconds?: number]>([
    ['its last line, and another exit code', `${says}\nsys.exit("no money left")`, 'exit'],
    ['its file, and another exit code', `${writes}\nsys.exit(3)`, 'exit'],
    ['its file, and no time is left', `${writes}\ntime.sleep(3600)`, 'deadline', 10],
    ['its last line, without a reward', says, 'no-result'],
    ['a result with a wrong reward', print({ reward: 2, usage }), 'no-result'],
  ])('a program says it in %s', async (_, rest, cause, seconds = 600) => {
    const player = fixture.player(asking(rest), { seconds: { episode: seconds, score: 600 } });
    const played = trajectorySchema.parse(await fixture.play(player));
    expect(played).toMatchObject({ finish: 'failed', failedBecause: cause, environmentUsage: usage });
  });

  test.each([
    ['the scoring command fails after it said so', `${says}\nraise SystemExit(1)`, usage],
    ['the scoring command fails without a word', 'raise SystemExit(1)', { promptTokens: 1, completionTokens: 2 }],
    ['the scoring command knows nothing', print({ reward: 1 }), { promptTokens: 1, completionTokens: 2 }],
  ])('%s', async (_, score, spent) => {
    const program = asking(print({ usage: { promptTokens: 1, completionTokens: 2 } }));
    const player = fixture.player(program, { score: ['python3', fixture.file('score.py', score)] });
    expect(trajectorySchema.parse(await fixture.play(player)).environmentUsage).toEqual(spent);
  });

  test('what is no number of tokens is nothing', async () => {
    const odd = print({ usage: { promptTokens: -1, completionTokens: 3 } });
    const played = await fixture.play(fixture.player(asking(`${odd}\nsys.exit(3)`)));
    expect(played).not.toHaveProperty('environmentUsage');
  });
});

test('a program that floods its output keeps its result, and its last words are short', async () => {
  const flood = `sys.stdout.write("x" * 5_000_000 + "\\n"); sys.stderr.write("y" * 5_000_000 + "\\n")\n`;
  const player = fixture.player(asking(`${flood}${print({ reward: 1 })}`));
  expect((await fixture.play(player)).reward).toBe(1);
  const failing = fixture.player(asking(`${flood}sys.exit(3)`));
  await fixture.play(failing);
  expect(fixture.failures[0]!.message.length).toBeLessThan(1_500);
  const endless = fixture.player(asking(`sys.stdout.write("x" * 5_000_000)`));
  expect((await fixture.play(endless)).failedBecause).toBe('no-result');
});

test('a folder with too many files fails the episode, of the program and of what scores it', async () => {
  const fill = `
for name in range(20): open(os.path.join(os.path.dirname(os.environ["TASK_FILE"]), str(name)), "w").close()
time.sleep(3600)`;
  const room = { bytes: 2 ** 20, files: 10 };
  const filled = await fixture.play(fixture.player(asking(fill), {}, undefined, room));
  const score = ['python3', fixture.file('score.py', `import os, time${fill}`)];
  const scored = await fixture.play(fixture.player(asking(''), { score }, undefined, room));
  expect([filled, scored].map(({ failedBecause }) => failedBecause)).toEqual(['files', 'files']);
  expect(fixture.failures[0]!.message).toContain('The program put more than 10 files into its folder.');
});

test('a result file may not lead elsewhere', async () => {
  symlinkSync('/etc/passwd', join(fixture.folder, 'elsewhere'));
  for (const make of [
    `os.symlink("/etc/passwd", os.environ["RESULT_FILE"])`,
    `os.mkfifo(os.environ["RESULT_FILE"])`,
    `os.mkdir(os.environ["RESULT_FILE"])`,
    `open(os.environ["RESULT_FILE"], "w").write("1" * 2_000_000)`,
    `open(os.environ["RESULT_FILE"], "wb").truncate(1 << 29)`,
  ]) {
    const played = await fixture.play(fixture.player(asking(make)));
    expect(played.failedBecause).toBe('no-result');
  }
  expect(fixture.failures.map(({ message }) => message).join()).not.toContain('root');
});

describe('what a program leaves in its folder', () => {
  const deep = (place: string) => `
os.chdir(os.path.dirname(os.environ["TASK_FILE"]))
for name in ["${place}"] + ["d" * 200] * 40:
    os.mkdir(name)
    os.chdir(name)
`;
  const held = 'folder = os.path.dirname(os.environ["TASK_FILE"])';
  const said = 'print(json.dumps({"reward": 1, "tags": [os.environ["TASK_FILE"]]}))';

  test('paths that are too long for the kernel do not outlive a good episode', async () => {
    const played = await fixture.play(fixture.player(asking(`${deep('a')}${said}`)));
    expect(played).toMatchObject({ reward: 1, finish: 'done' });
    expect(existsSync(dirname(played.tags[0]!))).toBe(false);
    expect(fixture.notes).toHaveLength(1);
  });

  test.each([
    ['a folder with paths too long in the place of a file', deep('transcript.json')],
    ['a folder that is gone', `${held}\nimport shutil; shutil.rmtree(folder)`],
  ])('%s fails the episode, not the set', async (_, program) => {
    const score = ['python3', fixture.file('score.py', print({ reward: 1 }))];
    const player = fixture.player(asking(program), { score });
    expect(await fixture.play(player)).toMatchObject({ finish: 'failed', failedBecause: 'files' });
    expect(fixture.failures.map(({ taskCause }) => taskCause)).toEqual(['files']);
  });
});

test('the whole process group ends with the program, and its key with it', async () => {
  const left = `
import subprocess
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(3600)"])
print(json.dumps({"reward": 1, "tags": [str(child.pid), os.environ["OPENAI_BASE_URL"], os.environ["OPENAI_API_KEY"]]}))`;
  const player = fixture.player(asking(left));
  const { tags } = await fixture.play(player);
  const [pid, url, key] = tags;
  while (isAlive(Number(pid))) await new Promise((resolve) => setImmediate(resolve));
  const late = await fetch(`${url}/models`, { headers: { authorization: `Bearer ${key}` } });
  expect(late.status).toBe(401);
});

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

test('a conversation that is too long ends the episode as in every other kind', async () => {
  const body = { error: { message: 'maximum context length is 10 tokens', code: 'context_length_exceeded' } };
  fixture.server.interceptors.push(({ messages }) => (messages.length > 2 ? { status: 400, body } : null));
  const crashing = asking(`
messages.append({"role": "user", "content": "more"})
ask(messages)`);
  const played = trajectorySchema.parse(await fixture.play(fixture.player(crashing)));
  expect(played).toMatchObject({ finish: 'context-length', reward: 0, success: false });
  expect(played.messages.map(({ content }) => content)).toEqual(['go', 'answer 1', 'more']);
  const careful = asking(`
try:
    ask(messages + [{"role": "user", "content": "more"}])
except urllib.error.HTTPError as error:
    assert json.load(error)["error"]["code"] == "context_length_exceeded"
${print({ reward: 1 })}`);
  expect(await fixture.play(fixture.player(careful))).toMatchObject({ finish: 'context-length', reward: 1 });
  const shortening = `
${asking('')}
${print({ reward: 1 })}`.replace(
    'messages.append(ask(messages))',
    `
try:
    ask(messages * 3)
except urllib.error.HTTPError as error:
    ask(messages)`,
  );
  const shortened = await fixture.play(fixture.player(shortening));
  expect(shortened).toMatchObject({ finish: 'done', reward: 1, success: true });
  expect(shortened.messages.map(({ content }) => content)).toEqual(['go', 'answer 1']);
  expect(fixture.failures).toEqual([]);
});

test.each<[what: string, rest: string, end: object]>([
  ['crashes', 'raise ValueError("the answer is incomplete")', { finish: 'no-tool-call', reward: 0, success: false }],
  ['says a result', print({ reward: 0.5 }), { finish: 'done', reward: 0.5 }],
  ['is well, and says no result', '', { finish: 'failed', failedBecause: 'no-result' }],
  [
    'goes on and crashes',
    'ask(messages + [{"role": "user", "content": "on"}]); sys.exit(3)',
    { failedBecause: 'exit' },
  ],
  ['had its own limit', 'ask(messages[:1], max_tokens=3); sys.exit(3)', { cutReplies: 2, failedBecause: 'exit' }],
  ['had a higher one', 'ask(messages[:1], max_tokens=9999); sys.exit(3)', { cutReplies: 2, finish: 'no-tool-call' }],
  ['is killed', 'import signal; os.kill(os.getpid(), signal.SIGKILL)', { failedBecause: 'exit' }],
  ['writes without end', 'while True: sys.stdout.write("x" * 1_000_000)', { failedBecause: 'exit' }],
])('an answer that was cut at the limit of tokens is the fault of the agent: the program %s', async (_, rest, end) => {
  await fixture.stop();
  fixture = await new PlayerFixture().start(({ messages }) => ({ content: 'half', cut: messages.length === 1 }));
  const played = trajectorySchema.parse(await fixture.play(fixture.player(asking(rest))));
  expect(played).toMatchObject({ cutReplies: 1, ...end });
});

describe('a program that asks without end', () => {
  const forever = `
while True:
    messages.append({"role": "user", "content": "on"})
    messages.append(ask(messages))`;
  const caught = (rest: string) => `
try:${forever.replaceAll('\n', '\n    ')}
except urllib.error.HTTPError as error:
    refused = json.load(error)["error"]
assert "turn limit" in refused["message"]
${rest}`;

  test.each<[what: string, rest: string, reward: number, score?: string]>([
    ['crashes', forever, 0],
    ['says no result', caught(''), 0],
    ['says a result', caught(print({ reward: 0.5, finish: 'done' })), 0.5],
    ['says a result and fails', caught(`${print({ reward: 0.5 })}\nsys.exit(3)`), 0.5],
    ['crashes, and is scored', forever, 0.25, print({ reward: 0.25 })],
    ['crashes, and cannot be scored', forever, 0, 'raise SystemExit(1)'],
  ])('and %s has had its turns', async (_, rest, reward, score = '') => {
    const launch = score === '' ? {} : { score: ['python3', fixture.file('score.py', score)] };
    const played = trajectorySchema.parse(await fixture.play(fixture.player(asking(rest), launch)));
    expect(played).toMatchObject({ finish: 'turn-limit', reward });
    expect(fixture.server.requests).toHaveLength(6);
    expect(fixture.failures).toEqual([]);
  });

  test('and ends well, but whose judge fails, has no result', async () => {
    const score = ['python3', fixture.file('score.py', 'raise SystemExit(1)')];
    expect((await fixture.play(fixture.player(asking(caught('')), { score }))).failedBecause).toBe('judge');
  });
});

test('an error of the model that concerns more than the episode rejects, and the program is gone', async () => {
  fixture.server.interceptors.push(() => ({ status: 401, body: { error: { message: 'no such key' } } }));
  const player = fixture.player(asking('time.sleep(3600)'));
  await expect(fixture.play(player)).rejects.toMatchObject({ type: 'Model.Unauthorised' });
});

test('sub-agents are branches, and the results of the last calls come from the result', async () => {
  fixture.server.behaviour = null;
  const program = asking(`
ask([{"role": "user", "content": "sub"}])
messages.append({"role": "user", "content": "on"})
ask(messages)
${print({ reward: 1, observations: ['no calls, no results'], finish: 'no-tool-call' })}`);
  const played = trajectorySchema.parse(await fixture.play(fixture.player(program)));
  expect(played.messages.map(({ content }) => content)).toEqual(['go', 'answer 1', 'on', 'answer 3']);
  expect(played.branches).toMatchObject({ count: 1, kept: [[{ content: 'sub' }, { content: 'answer 1' }]] });
  expect(played).toMatchObject({ finish: 'no-tool-call', success: true });
});

test('words of the agent before the first answer are not those of the model', async () => {
  const program = asking(`
ask([{"role": "assistant", "content": "How can I help?"}, {"role": "user", "content": "x"}])
${print({ reward: 1 })}`);
  const played = trajectorySchema.parse(await fixture.play(fixture.player(program)));
  expect(played.openingAnswers).toBeUndefined();
  const greeting = program.replace('messages.append(ask(messages))', '');
  expect(await fixture.play(fixture.player(greeting))).toMatchObject({ openingAnswers: 1, success: true });
});

describe('a scoring command', () => {
  const scored = (score: string) =>
    fixture.player(asking('print("any words")'), { score: ['python3', fixture.file('score.py', score)] });

  test('reads the conversation and says the result, without the key of the episode', async () => {
    const player = scored(`
import json, os, sys
said = json.load(open(os.environ["TRANSCRIPT_FILE"]))
assert said["messages"][-1]["content"] == "answer 1" and said["task_id"] == "1" == json.load(sys.stdin)["task_id"]
assert "OPENAI_API_KEY" not in os.environ
print(json.dumps({"reward": 0.25}))`);
    expect(await fixture.play(player)).toMatchObject({ reward: 0.25, finish: 'done' });
  });

  test('reads no more conversations of sub-agents than a trajectory keeps', async () => {
    const many = asking(`
for number in range(70):
    ask([{"role": "user", "content": str(number)}])`);
    const score = `
import json, os
said = json.load(open(os.environ["TRANSCRIPT_FILE"]))
print(json.dumps({"reward": 1, "tags": [str(len(said["others"]))]}))`;
    const player = fixture.player(many, { score: ['python3', fixture.file('score.py', score)] });
    expect(await fixture.play(player)).toMatchObject({ tags: ['64'], branches: { count: 70 } });
  });

  test.each([
    ['that fails', 'import sys; sys.exit(1)'],
    ['that says nothing', ''],
    ['that says no result', 'print("seven")'],
  ])('%s fails the episode because of its judge', async (_, score) => {
    expect(await fixture.play(scored(score))).toMatchObject({ finish: 'failed', failedBecause: 'judge', reward: 0 });
  });
});

test('no more run at a time than the memory has room for, and closing ends all', async () => {
  const player = fixture.player(asking('time.sleep(3600)'), { memoryPerEpisode: 1_000_000 });
  expect(fixture.notes[0]).toContain('at most 1 programs at a time');
  const playing = [0, 1, 2].map((seed) => fixture.play(player, planOf(seed)).catch((error: unknown) => error));
  while (fixture.server.requests.length === 0) await new Promise((resolve) => setTimeout(resolve, 10));
  await player.close();
  const ends = (await Promise.all(playing)) as { type: string }[];
  expect(ends.map(({ type }) => type)).toEqual(Array(3).fill('Sandbox.EnvironmentClosed'));
  expect(fixture.server.requests).toHaveLength(1);
});

test('a command that does not exist is refused', async () => {
  await expect(fixture.play(fixture.player(['no-such-program']))).rejects.toMatchObject({
    type: 'Sandbox.CommandRefused',
  });
});
