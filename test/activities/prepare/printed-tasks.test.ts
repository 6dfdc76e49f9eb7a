// Tier: jail (real commands and runtime, fake model and analyst servers).
import { chmodSync, copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readOwnerEnvironment } from '../../../activities/environment';
import { ownerFileProblems } from '../../../cli/repair/owner-files';
import { preparedSpecSchema } from '../../../contracts/artifacts/prepared-spec';
import { operatorPolicySchema } from '../../../contracts/config/operator-policy';
import { programPath } from '../../../sandbox';
import { getJson } from '../../../store';
import type { RunFixture } from '../run-fixture';
import { PrepareFixture, type PrepareOptions, yaml } from './prepare-fixture';

let given: PrepareFixture;
let fixture: RunFixture;
let folder: string;
/** The file whose lines the command prints; the last line is how it ends. */
let printing: string;
/** Writes the agent.yaml. */
const write = () =>
  writeFileSync(
    join(folder, 'agent.yaml'),
    yaml().replace(
      /environment: .*/,
      'environment: { kind: process, command: [python3, server.py], tasks: { command: [sh, tasks.sh] } }',
    ),
  );
const prints = (ids: string[], end = 'exit 0') =>
  writeFileSync(
    printing,
    ids.map((id, i) => `{"id":"${id}","split":"${i === 1 ? 'test' : 'train'}"}\n`).join('') + end,
  );
beforeEach(async () => {
  given = await PrepareFixture.start();
  ({ fixture, folder } = given);
  for (const one of [fixture.folder, folder]) chmodSync(one, 0o755);
  copyFileSync(join(__dirname, '../../fakes/process_server.py'), join(folder, 'server.py'));
  // The script stays the same, so that a retry cannot know that it would print something else now.
  printing = join(folder, 'printed.txt');
  writeFileSync(join(folder, 'tasks.sh'), 'grep -v ^exit printed.txt; eval "$(grep ^exit printed.txt)"\n');
  prints(['refund', 'exchange', 'lost']);
  write();
});
afterEach(() => given.stop());
const prepare = (options: PrepareOptions) => given.prepare(options);
const frozen = async (runId: string) => {
  const { context } = await prepare({ ownFolders: true, input: { runId } });
  return getJson(fixture.store, context.spec, preparedSpecSchema);
};

test('a run freezes them, its retries take the same, and the next run asks again', async () => {
  const first = await frozen('run-1');
  expect(first).toMatchObject({
    tasks: ['refund', 'lost', 'exchange'],
    printedTasks: { records: 3 },
    spec: { environment: { trainSeeds: { start: 0, count: 2 }, heldOutSeeds: { start: 2, count: 1 } } },
  });
  expect(String(await fixture.store.get(first.printedTasks!)).split('\n')[0]).toBe(
    '{"id":"refund","split":"train","range":"train"}',
  );
  expect((await frozen('run-2')).environmentSha256).toBe(first.environmentSha256);
  prints(['refund', 'exchange', 'stolen']);
  // A retry, and what plays the run's tasks, which has nothing but the prepared spec.
  expect(await frozen('run-1')).toEqual(first);
  const { context } = await prepare({ ownFolders: true });
  expect(await ownerFileProblems(fixture.store, context.spec)).toEqual([]);
  expect(await readOwnerEnvironment(first)).toMatchObject({ tasks: first.tasks });
  const next = await frozen('run-3');
  expect(next.tasks).toEqual(['refund', 'stolen', 'exchange']);
  expect(next.environmentSha256).not.toBe(first.environmentSha256);
  // Another command that prints the same is the same environment.
  prints(['refund', 'exchange', 'lost']);
  writeFileSync(join(folder, 'tasks.sh'), '# changed\n', { flag: 'a' });
  expect((await frozen('run-4')).environmentSha256).toBe(first.environmentSha256);
});

test('a changed command runs again in a retry', async () => {
  await frozen('run-1');
  prints(['stolen', 'exchange']);
  writeFileSync(join(folder, 'tasks.sh'), '# corrected\n', { flag: 'a' });
  expect((await frozen('run-1')).tasks).toEqual(['stolen', 'exchange']);
});

test('a failed command waits for the owner, and a retry runs it again', async () => {
  prints(['refund', 'exchange'], 'exit 3');
  const failed = prepare({ ownFolders: true });
  await expect(failed).rejects.toMatchObject({ type: 'Environment.Failed', nonRetryable: true });
  await expect(failed).rejects.toThrow(
    /agent\.yaml: environment\.tasks\.command: "sh tasks\.sh" ended with code 3, so there are no tasks.*whet retry RUN/s,
  );
  prints(['refund', 'refund']);
  await expect(prepare({ ownFolders: true })).rejects.toThrow(/environment\.tasks: .*line 2, id: "refund" is also/);
  prints(['refund', 'exchange']);
  expect((await frozen('run-1')).tasks).toEqual(['refund', 'exchange']);
});

test('more held-out tasks than it prints', async () => {
  writeFileSync(
    join(folder, 'agent.yaml'),
    readFileSync(join(folder, 'agent.yaml'), 'utf8').replace('mixedAdapter: true', 'heldOutTasks: 2'),
  );
  await expect(frozen('run-1')).rejects.toMatchObject({
    type: 'Spec.Invalid',
    message: expect.stringContaining('evaluation.heldOutTasks: 2 is not allowed. Allowed: 1 to') as string,
  });
});

test('the operator allows it like the others, and it does not run before', async () => {
  writeFileSync(join(folder, 'tasks.sh'), 'sleep 3600\n');
  const commands = [`${programPath('python3', folder)} server.py`];
  const policy = { file: '/policy.yaml', policy: operatorPolicySchema.parse({ all: { commands } }) };
  await expect(prepare({ policy })).rejects.toMatchObject({
    type: 'Spec.NotAllowed',
    message: expect.stringMatching(/^environment\.tasks\.command: "\/.*sh tasks\.sh" is not allowed/) as string,
  });
});
