// Tier: integration (real programs).
import { chmodSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { launchProgram, type ProgramSource } from '../../sandbox';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'launch-program-'));
  chmodSync(folder, 0o755);
});
afterEach(() => {
  delete process.env['WHET_UNJAILED_ENVIRONMENTS'];
  rmSync(folder, { recursive: true });
});

/** Starts Python code as the command of an episode. */
function launched(code: string, more: Record<string, string> = {}) {
  const launch = {
    command: ['python3', '-c', code],
    agentFolder: folder,
    folders: [],
    secrets: [],
    variables: {},
    score: null,
    memoryPerEpisode: 512,
    seconds: { episode: 600, score: 600 },
  };
  const source: ProgramSource = {
    plays: 'program',
    firstSeed: 0,
    trust: 'owner',
    name: 'agent.yaml',
    agent: 'desk',
    launch,
  };
  return launchProgram(source, { command: launch.command, more, writable: folder, input: '/dev/null' });
}

describe.each([
  ['is killed', 'time.sleep(3600)', { code: null, signal: 'SIGKILL' }],
  ['ends by itself', 'sys.exit(3)', { code: 3, signal: null }],
])('without a jail, a program that %s', (_, rest, end) => {
  test('has ended although a child outside its group holds its output', async () => {
    process.env['WHET_UNJAILED_ENVIRONMENTS'] = 'desk';
    // The child ends by itself after a minute, so that it does not stay if the test fails.
    const running = await launched(`
import subprocess, sys, time
child = subprocess.Popen(["sleep", "60"], start_new_session=True)
print(child.pid, flush=True)
${rest}`);
    let said = '';
    running.stdout.setEncoding('utf8').on('data', (text: string) => (said += text));
    running.stderr.resume();
    while (!said.endsWith('\n')) await new Promise((resolve) => setTimeout(resolve, 10));
    const child = Number(said);
    if (end.signal !== null) running.kill();
    expect(await running.ended).toMatchObject(end);
    expect(existsSync(`/proc/${child}/exe`)).toBe(true);
    expect(running.stdout.destroyed).toBe(true);
    process.kill(child, 'SIGKILL');
  });
});
