// jail
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type EnvironmentProcess, loadProfile } from '../../sandbox';
import { projectRoot } from '../../contracts/project-root';
import { attackList } from './attack-list';
import type { Attack, Expected } from './attacks/attack';
import { CHANNEL } from './attacks/channel';
import { FILES } from './attacks/files';
import { INTERPRETER } from './attacks/interpreter';
import { KERNEL } from './attacks/kernel';
import { NETWORK } from './attacks/network';
import { PROCESSES } from './attacks/processes';
import { RESOURCES } from './attacks/resources';
import { RESULTS } from './attacks/results';
import { type HostState, hostState, leftOnHost, sharedMemoryMb } from './host-state';
import { attackInJail, hostileSource, jailProcesses, openHostile } from './hostile';

const FAMILIES: Readonly<Record<string, readonly Attack[]>> = {
  network: NETWORK,
  files: FILES,
  kernel: KERNEL,
  processes: PROCESSES,
  resources: RESOURCES,
  channel: CHANNEL,
  results: RESULTS,
  interpreter: INTERPRETER,
};
const ATTACKS_NOTICE =
  'Written by `WHET_WRITE_DOCS=1 npx jest test/sandbox/hostile.test`; do not edit. [sandbox.md](../explanations/sandbox.md)\n' +
  'says how they are run.';
/** Other work on the machine shares the counter; the attacks on it try for gigabytes. */
const SHARED_MEMORY_SLACK_MB = 256;

let before: HostState;
let sharedBefore: number;
let processesBefore: string[];
/** An episode of another environment that goes on beside every attack. */
let bystander: EnvironmentProcess;
let bystanderSteps = 0;

beforeAll(async () => {
  bystander = await openHostile(hostileSource('globals()["steps"] = globals().get("steps", 0) + 1\nreturn steps'));
  before = await hostState();
  processesBefore = jailProcesses();
  sharedBefore = sharedMemoryMb();
});
afterAll(() => bystander.close());

async function expectBystanderAnswers(): Promise<void> {
  bystanderSteps++;
  expect((await bystander.step('e', [{ name: 'go', arguments: {} }])).observations).toEqual([String(bystanderSteps)]);
}

const fits = (got: string | Error, expected: Expected): boolean => {
  if (typeof expected === 'function') return got instanceof expected;
  if (got instanceof Error) return false;
  return expected instanceof RegExp ? expected.test(got) : got === expected;
};

async function play(attack: Attack): Promise<void> {
  if ('run' in attack) return attack.run();
  const { body, expected, ...options } = attack;
  const got = await attackInJail(body, options);
  const allowed = Array.isArray(expected) ? (expected as readonly Expected[]) : [expected as Expected];
  if (!allowed.some((one) => fits(got, one)))
    throw new Error(
      `The attack got ${String(got)}; it may get ` +
        `${allowed.map((one) => (typeof one === 'function' ? one.name : String(one))).join(' or ')}.`,
    );
}

describe.each(Object.entries(FAMILIES))('%s', (_, attacks) => {
  for (const attack of attacks) {
    // An attack with the instructions of another processor is none on this one.
    if (attack.only !== undefined && attack.only !== process.arch) continue;
    test(attack.name, async () => {
      const attacking = play(attack);
      await expectBystanderAnswers();
      await attacking;
      await expectBystanderAnswers();
      expect(jailProcesses()).toEqual(processesBefore);
    });
  }
});

test('the suite has at least 60 attacks, each once', () => {
  const names = Object.values(FAMILIES).flatMap((attacks) => attacks.map(({ name }) => name));
  expect(new Set(names).size).toBe(names.length);
  expect(names.length).toBeGreaterThanOrEqual(60);
  console.log(
    `${names.length} attacks: ${Object.entries(FAMILIES)
      .map(([family, attacks]) => `${attacks.length} on ${family}`)
      .join(', ')}`,
  );
});

test('docs/reference/attacks.md names every attack (WHET_WRITE_DOCS=1 writes it)', () => {
  const path = join(projectRoot(), 'docs', 'reference', 'attacks.md');
  const expected = `# Attacks on the jail\n\n${ATTACKS_NOTICE}\n\n${attackList(FAMILIES)}\n`;
  if (process.env['WHET_WRITE_DOCS']) writeFileSync(path, expected);
  else expect(readFileSync(path, 'utf8')).toBe(expected);
});

test('the host is as it was before the attacks', async () => {
  expect(await leftOnHost(before)).toEqual([]);
  expect(sharedMemoryMb() - sharedBefore).toBeLessThan(SHARED_MEMORY_SLACK_MB);
});

(process.getuid?.() === 0 ? test : test.skip)('the comparison sees what a jail would have left', async () => {
  const path = join(tmpdir(), `left-behind-${process.pid}`);
  const { first } = loadProfile().profile.uids;
  writeFileSync(path, '');
  chownSync(path, first, first);
  const daemon = spawn(
    'setpriv',
    [`--reuid=${first}`, '--clear-groups', 'sh', '-c', 'sleep 30 > /dev/null 2>&1 & exec true'],
    { stdio: 'ignore' },
  );
  await once(daemon, 'exit');
  const left = await leftOnHost(before, 1);
  rmSync(path);
  const { orphans } = await hostState();
  orphans.forEach(({ pid }) => process.kill(pid, 'SIGKILL'));
  expect(left).toContain(`+ foreignFiles: ${JSON.stringify(path)}`);
  expect(left).toContainEqual(expect.stringMatching(/^\+ orphans: .*sleep 30/));
});

test('the episode beside the attacks was not disturbed', async () => {
  expect(bystander.alive).toBe(true);
  expect((await bystander.evaluate('e')).reward).toBe(1);
});
