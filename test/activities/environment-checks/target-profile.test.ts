// Tier: process (real runtime in the owner's jail; no model).
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { readTargetProfile } from '../../../activities/environment-checks/target-profile';
import type { OpenEnvironment } from '../../../activities/environment';
import { loadProfile, openEnvironment } from '../../../sandbox';
import { fixture as fixturePath } from '../run-fixture';
import { failingEnvironment, type TaskFailure } from '../../fakes/failing-environment';
import { EnvironmentHung, EnvironmentRaised } from '../../helpers/sandbox-errors';

const office = readFileSync(fixturePath('post_office.py'), 'utf8');
const STEP = '        name, given = call["name"], call["arguments"]\n';
const RESET = '        self.task = self.generate_task(seed)\n';

/** The post office with lines added before a passage that is there once. */
function before(passage: string, added: string): string {
  expect(office.split(passage)).toHaveLength(2);
  return office.replace(passage, `${added}${passage}`);
}

/** Limit of a line of requests for an environment that hangs, and for one that is near it. Others have a minute. */
const SHORT_MS = 4_000;

function profileOf(
  source: string,
  request = 60_000,
  signal = new AbortController().signal,
  wrap: (open: OpenEnvironment) => OpenEnvironment = (open) => open,
) {
  const loaded = loadProfile();
  const profile = { ...loaded, profile: { ...loaded.profile, wallMs: { ...loaded.profile.wallMs, request } } };
  return readTargetProfile({
    openEnvironment: wrap((environment) => openEnvironment({ ...environment, profile })),
    environment: { source, trust: 'owner', name: 'post office' },
    spec: { trainSeeds: { start: 0, count: 100 }, heldOutSeeds: { start: 1000, count: 60 } },
    signal,
  });
}

test('what tools answer, and what train and held-out tasks ask', async () => {
  const { tools, formats, refusal, refused, tasks, train, heldOut } = await profileOf(office);
  expect(tools.map((tool) => tool.function.name)).toEqual(['weigh', 'send', 'tell']);
  expect([...formats.keys()].sort()).toEqual(['send', 'tell', 'weigh']);
  expect([...refusal!.objects.keys()]).toEqual(['error']);
  // Each answer once, so that its author can answer alike.
  expect(refused[0]).toMatchObject({ name: 'no_such_tool', arguments: '{}' });
  expect(new Set(refused.map(({ observation }) => observation)).size).toBe(refused.length);
  expect([tasks.length, train.length, heldOut.length]).toEqual([60, 100, 60]);
  expect(train[99]).toMatch(/^good morning this is/);
});

describe('an environment whose simulator fails', () => {
  const failure: TaskFailure = { at: 'reset', cause: 'simulator' };
  const profile = (fails: (seed: number, tries: number) => boolean) =>
    profileOf(office, 60_000, new AbortController().signal, (open) => {
      return failingEnvironment(open, ({ seed, tries }) => (fails(seed, tries) ? failure : null)).open;
    });

  test('a task is read where a try of three is played, and else it is left out', async () => {
    const { tasks, train, heldOut } = await profile(
      (seed, tries) => seed === 7 || seed === 1007 || (seed % 10 === 3 && tries < 3),
    );
    expect(tasks.some(({ seed }) => seed === 7)).toBe(false);
    expect([tasks.length, train.length, heldOut.length]).toEqual([60, 99, 59]);
  });

  test('where no task can be read, that is the error', async () => {
    await expect(profile(() => true)).rejects.toMatchObject({ type: 'Sandbox.TaskFailed', taskCause: 'simulator' });
  });
});

test('an environment that takes its time at every reset is not taken for a hanging one', async () => {
  // All of a hundred resets in a line would take more than the line has.
  const slow = before(RESET, '        __import__("time").sleep(0.05)\n');
  await expect(profileOf(slow, SHORT_MS)).resolves.toMatchObject({ train: { length: 100 }, heldOut: { length: 60 } });
});

test('one that dies of a malformed call loses what that call would have shown', async () => {
  const brittle = before(STEP, '        if not call["arguments"]:\n            __import__("os")._exit(3)\n');
  const { formats, heldOut } = await profileOf(brittle);
  expect([...formats.keys()].sort()).toEqual(['send', 'tell', 'weigh']);
  expect(heldOut).toHaveLength(60);
});

test('one that hangs in an episode costs that episode, and those beside it are played again', async () => {
  const hangs = before(
    STEP,
    '        if self.task == self.generate_task(7):\n            __import__("time").sleep(60)\n',
  );
  const { formats } = await profileOf(hangs, SHORT_MS);
  expect(formats).toEqual((await profileOf(office)).formats);
});

test('one that ends at every call is given up', async () => {
  const dead = before(STEP, '        __import__("os")._exit(3)\n');
  await expect(profileOf(dead)).rejects.toThrow(/ended with code 3/);
});

test('one that does not open its tasks is given up', async () => {
  await expect(profileOf(before(RESET, '        assert seed < 1000, "no such town"\n'))).rejects.toThrow(
    EnvironmentRaised,
  );
  const hangs = before(RESET, '        __import__("time").sleep(60)\n');
  await expect(profileOf(hangs, SHORT_MS)).rejects.toThrow(EnvironmentHung);
});

test('a cancellation does not wait for a hanging environment', async () => {
  // The module's jail shows it no file to leave a mark in, but it has the network.
  const server = createServer((socket) => socket.destroy()).listen(0, '127.0.0.1');
  try {
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const stop = new AbortController();
    const hangs =
      `        __import__("socket").create_connection(("127.0.0.1", ${port})).close()\n` +
      '        __import__("time").sleep(600)\n';
    const profile = profileOf(before(RESET, hangs), 600_000, stop.signal);
    await Promise.race([once(server, 'connection'), profile]);
    stop.abort(new Error('enough'));
    await expect(profile).rejects.toThrow('enough');
  } finally {
    server.close();
  }
});
