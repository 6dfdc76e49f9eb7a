// Tier: jail.
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { processIds } from '../../../../contracts/running-process';
import { loadProfile } from '../../../../sandbox';
import { jailPlan } from '../../../../sandbox/jail-plan';
import { programProfile } from '../../../../sandbox/profile';
import { planOf, PlayerFixture } from './player-fixture';

let fixture: PlayerFixture;
beforeAll(async () => {
  fixture = await new PlayerFixture().start(({ messages }) => ({ content: `answer ${messages.length}` }));
  delete process.env['WHET_UNJAILED_ENVIRONMENTS'];
  chmodSync(fixture.folder, 0o755);
  process.env['WHET_TEST_SECRET'] = 'of the worker';
});
afterAll(async () => {
  delete process.env['WHET_TEST_SECRET'];
  await fixture.stop();
});

const ASK = `
import glob, json, os, sys, urllib.request
task = json.load(sys.stdin)
assert json.load(open(os.environ["TASK_FILE"])) == task
body = json.dumps({"model": os.environ["OPENAI_MODEL"], "messages": [{"role": "user", "content": "go"}]}).encode()
headers = {"content-type": "application/json", "authorization": "Bearer " + os.environ["OPENAI_API_KEY"]}
urllib.request.urlopen(urllib.request.Request(os.environ["OPENAI_BASE_URL"] + "/chat/completions", body, headers)).read()
`;

test('a jailed program reads its task, asks its model and writes its result', async () => {
  const player = fixture.player(`${ASK}
open(os.environ["RESULT_FILE"], "w").write(json.dumps({"reward": 0.75, "tags": [task["task_id"]]}))`);
  const played = await fixture.play(player, planOf(5));
  expect(fixture.failures).toEqual([]);
  expect(played).toMatchObject({ reward: 0.75, tags: ['5'], finish: 'done' });
});

test('a jailed scoring command reads the conversation and what the program left', async () => {
  const score = fixture.file(
    'score.py',
    `import json, os
said = json.load(open(os.environ["TRANSCRIPT_FILE"]))["messages"][-1]["content"]
left = open(os.path.join(os.path.dirname(os.environ["RESULT_FILE"]), "left")).read()
print(json.dumps({"reward": 1, "tags": [said, left, json.load(open(os.environ["TASK_FILE"]))["task_id"]]}))`,
  );
  const player = fixture.player(
    `${ASK}
os.umask(0o077)
open(os.path.join(os.path.dirname(os.environ["RESULT_FILE"]), "left"), "w").write("here")
os.remove(os.environ["TASK_FILE"]) or os.symlink("/etc/hostname", os.environ["TASK_FILE"])`,
    { score: ['python3', score] },
  );
  const played = await fixture.play(player, planOf(6));
  expect(fixture.failures).toEqual([]);
  expect(played.tags).toEqual(['answer 1', 'here', '6']);
});

test('a program sees neither the worker nor other episodes and their keys', async () => {
  const player = fixture.player(`${ASK}
def what(code):
    try:
        return str(eval(code))[:300]
    except Exception as error:
        return type(error).__name__
codes = [
    'open("/proc/${process.pid}/environ").read()',
    'os.environ.get("WHET_TEST_SECRET")',
    'len(glob.glob("/tmp/whet-episode-*"))',
    '[p for p in os.listdir("/proc") if p.isdigit() and b"OPENAI_API_KEY" in open(f"/proc/{p}/environ", "rb").read() and os.environ["OPENAI_API_KEY"].encode() not in open(f"/proc/{p}/environ", "rb").read()]',
    'open("${fixture.folder}/new", "w")',
]
print(json.dumps({"reward": 1, "tags": [what(code) for code in codes]}))`);
  const both = await Promise.all([fixture.play(player, planOf(7)), fixture.play(player, planOf(8))]);
  expect(fixture.failures).toEqual([]);
  for (const { tags } of both)
    expect(tags).toEqual(['FileNotFoundError', 'None', '1', expect.stringMatching(/^\[\]$|Error$/), 'OSError']);
});

test('a file that the jail hides is told apart from one that does not exist', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'whet-hidden-'));
  try {
    chmodSync(folder, 0o755);
    const data = join(folder, 'its data.json');
    writeFileSync(data, 'secret words');
    symlinkSync(data, join(fixture.folder, 'link.json'));
    const messageOf = async (program: string | string[], launch = {}) => {
      fixture.failures.length = 0;
      await fixture.play(fixture.player(program, launch), planOf(11));
      return fixture.failures[0]?.message ?? '';
    };
    const seen = 'exists, but a program sees only the folder of agent.yaml and environment.folders.';
    const opens = (path: string): string => `${ASK}\nopen(${JSON.stringify(path)})`;
    const message = await messageOf(opens(data));
    expect(message).toContain(`No such file or directory: '${data}'\n${data} ${seen}`);
    expect(message).not.toContain('secret words');
    expect(await messageOf(['python3', data])).toContain(`${data} ${seen}`);
    expect(await messageOf(['cat', join(folder)])).toContain(`\n${folder} ${seen}`);
    expect(await messageOf(opens(`../${basename(folder)}/its data.json`))).toContain(`\n${data} ${seen}`);
    expect(await messageOf(opens('link.json'))).not.toContain(seen);
    expect(await messageOf(opens(`${fixture.folder}/link.json`))).toContain(`\n${fixture.folder}/link.json ${seen}`);
    expect(await messageOf(opens(`${data}.no`))).not.toContain('exists, but');
    expect(await messageOf(opens(data), { folders: [folder] })).toContain('The program printed no result.');
  } finally {
    fixture.failures.length = 0;
    rmSync(folder, { recursive: true, force: true });
  }
});

test('a program gets no more memory than an episode has', async () => {
  const fills = `${ASK}
filled = b"x" * (300 << 20)
print(json.dumps({"reward": 1}))`;
  const { cgroup } = await jailPlan(programProfile(loadProfile()));
  // Elsewhere nothing limits it.
  if (cgroup.layer === 'none') return;
  expect(await fixture.play(fixture.player(fills, { memoryPerEpisode: 600 }), planOf(10))).toMatchObject({ reward: 1 });
  expect(await fixture.play(fixture.player(fills, { memoryPerEpisode: 100 }), planOf(11))).toMatchObject({
    failedBecause: 'exit',
  });
  expect(fixture.failures.pop()!.message).toContain('Its memory was full (environment.memoryPerEpisode)');
});

test('a program starts no more processes than it may, and none outlives it or reaches others', async () => {
  const forks = `${ASK}
import signal, time
started = 0
for _ in range(10_000):
    try:
        if os.fork() == 0:
            time.sleep(3600)
        started += 1
    except OSError:
        break
print(json.dumps({"reward": 1, "tags": [str(started)]}), flush=True)
os.kill(-1, signal.SIGKILL)`;
  const before = processIds();
  const [bomb, other] = await Promise.all([
    fixture.play(fixture.player(['python3', fixture.file('forks.py', forks)], { memoryPerEpisode: 2048 }), planOf(12)),
    fixture.play(fixture.player(`${ASK}print(json.dumps({"reward": 1}))`, { memoryPerEpisode: 512 }), planOf(13)),
  ]);
  expect(fixture.failures).toEqual([]);
  expect([bomb.reward, other.reward]).toEqual([1, 1]);
  expect(Number(bomb.tags[0])).toBeLessThan(1_024);
  const left = processIds().filter((pid) => !before.includes(pid) && environmentOf(pid).includes(fixture.folder));
  expect(left).toEqual([]);
});

const environmentOf = (pid: number): string => {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'utf8') + readFileSync(`/proc/${pid}/cmdline`, 'utf8');
  } catch {
    return '';
  }
};

test('what an episode wrote is gone after it', async () => {
  const player = fixture.player(`${ASK}
folder = os.path.dirname(os.environ["RESULT_FILE"])
os.makedirs(os.path.join(folder, "a/b"))
print(json.dumps({"reward": 1, "tags": [folder]}))`);
  const { tags } = await fixture.play(player, planOf(9));
  expect(tags[0]).toContain('whet-episode-');
  expect(existsSync(tags[0]!)).toBe(false);
});
