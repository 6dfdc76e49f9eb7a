// tier: unit
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { refusedCommand } from '../../../activities/prepare/refused-command';
import { agentSpecSchema } from '../../../contracts/config/agent-spec';
import { operatorPolicySchema } from '../../../contracts/config/operator-policy';
import { projectRoot } from '../../../contracts/project-root';

const folder = mkdtempSync(join(tmpdir(), 'rights-'));
writeFileSync(join(folder, 'server.py'), '#!/usr/bin/python3\n', { mode: 0o755 });
afterAll(() => rmSync(folder, { recursive: true }));

const refused = (environment: object, policy: object | null = null, ownFolders = false): string | null =>
  refusedCommand(
    policy && { file: '/policy.yaml', policy: operatorPolicySchema.parse(policy) },
    agentSpecSchema.parse({
      version: 1,
      name: 'desk',
      environment: {
        kind: 'process',
        trainSeeds: { start: 0, count: 1 },
        heldOutSeeds: { start: 1, count: 1 },
        ...environment,
      },
      model: { name: 'base' },
    }),
    join(folder, 'agent.yaml'),
    ownFolders,
  );

test('nothing is allowed by default, and each line says what allows it', () => {
  const asked = { command: ['./server.py'], folders: ['/opt/venv'], secrets: ['DESK_KEY'] };
  expect(refused(asked)!.split('\n')).toEqual([
    `environment.command: "${folder}/server.py" is not allowed. An operator allows it with the line agents: { "desk": { commands: ["${folder}/server.py"] } }`,
    'environment.folders.0: "/opt/venv" is not allowed. An operator allows it with the line agents: { "desk": { folders: ["/opt/venv"] } }',
    'environment.secrets.0: "DESK_KEY" is not allowed. An operator allows it with the line agents: { "desk": { secrets: ["DESK_KEY"] } }',
    'This worker has no policy, so it allows nothing. Name a file in its variable WHET_POLICY.',
  ]);
  const rights = { commands: [`${folder}/*`], folders: ['/opt/venv'], secrets: ['DESK_KEY'] };
  expect(refused(asked, { agents: { desk: rights } })).toBeNull();
  expect(refused(asked, { agents: { other: rights } })).toContain('environment.command');
  expect(refused(asked, { all: { commands: ['/usr/*'], folders: ['*'], secrets: ['*'] } })!.split('\n')).toHaveLength(
    2,
  );
});

test('on one machine what lies in the agent’s own folder, and the system’s programs, need no entry; secrets do', () => {
  expect(refused({ command: ['./server.py'], folders: ['data'] }, null, true)).toBeNull();
  expect(refused({ command: ['bash', 'run.sh'] }, null, true)).toBeNull();
  expect(refused({ command: ['bash', 'run.sh'] })).toContain('/bash run.sh" is not allowed');
  expect(refused({ command: ['../other/run.sh'] }, null, true)).toContain('environment.command');
  expect(refused({ command: ['./server.py'], folders: ['..'] }, null, true)).toContain('environment.folders.0');
  expect(refused({ command: ['./server.py'], secrets: ['DESK_KEY'] }, null, true)).toContain('environment.secrets.0');
});

test('a link in the agent’s own folder to what is elsewhere needs an entry for that', () => {
  const other = mkdtempSync(join(tmpdir(), 'rights-other-'));
  mkdirSync(join(folder, 'data'));
  symlinkSync(join(folder, 'data'), join(folder, 'same'));
  symlinkSync(other, join(folder, 'link'));
  const asked = (name: string) => ({ command: ['./server.py'], folders: [name] });
  expect(refused(asked('same'), null, true)).toBeNull();
  expect(refused(asked('link'), null, true)).toContain(`environment.folders.0: "${other}" is not allowed`);
  expect(refused(asked('link'), { all: { folders: [other] } }, true)).toBeNull();
  rmSync(other, { recursive: true });
});

test('an entry with a star allows no way up, and one for several words not those as one', () => {
  const asked = (...words: string[]) => ({ command: ['/opt/desk/run', ...words] });
  const rights = { all: { commands: ['/opt/desk/run --file /opt/desk/*'] } };
  expect(refused(asked('--file', '/opt/desk/a..b/tasks'), rights)).toBeNull();
  for (const path of ['/opt/desk/../evil', '/opt/desk/a/..', '/opt/desk/a --more=../evil'])
    expect(refused(asked('--file', path), rights)).toContain('environment.command');
  const exact = { all: { commands: ['/opt/desk/run a b', '/opt/desk/run "a b" {"c":1}'] } };
  expect(refused(asked('a', 'b'), exact)).toBeNull();
  expect(refused(asked('a b', '{"c":1}'), exact)).toBeNull();
  expect(refused(asked('a b'), exact)).toContain('environment.command: "/opt/desk/run \\"a b\\"" is not allowed');
});

test('an entry for a program does not allow its arguments, nor variables that make it load other code', () => {
  const asked = { command: ['/usr/bin/env', 'true'], variables: { LD_PRELOAD: './evil.so' } };
  expect(
    refused(asked, { all: { commands: ['/usr/bin/env'] } })!
      .split('\n')
      .slice(0, 2),
  ).toEqual([
    expect.stringContaining('environment.command: "/usr/bin/env true" is not allowed'),
    expect.stringContaining('environment.variables.LD_PRELOAD: "LD_PRELOAD=./evil.so" is not allowed'),
  ]);
  const rights = { commands: ['/usr/bin/env *'], variables: ['LD_PRELOAD=./evil.so'] };
  expect(refused(asked, { all: rights })).toBeNull();
  expect(refused({ ...asked, variables: { LD_PRELOAD: './other.so' } }, { all: rights })).toContain('LD_PRELOAD');
});

test('on one machine what `whet env add` installed needs no entry', () => {
  const venv = join(process.env['WHET_HOME'] || '.whetstone', 'environments', 'tau2-0123456789ab');
  const section = { kind: 'tau2', venv: resolve(venv), domain: 'retail', user: { script: 'gold' } };
  expect(refused(section, null, true)).toBeNull();
  expect(refused(section)).toContain('environment.command');
});

test('the command that prints the tasks is asked for like the others', () => {
  const asked = { kind: 'program', command: ['bash'], tasks: { command: ['./server.py', '--tasks'] } };
  expect(refused(asked, null, true)).toBeNull();
  expect(refused(asked)).toContain(`environment.tasks.command: "${folder}/server.py --tasks" is not allowed`);
  expect(refused({ ...asked, tasks: { command: ['../list'] } }, null, true)).toMatch(/^environment\.tasks\.command: /);
  // A short form's commands are this project's own; this one is not.
  const tau2 = { kind: 'tau2', venv: '/opt/venv', domain: 'retail', user: { script: 'gold' } };
  const rights = { all: { commands: ['/opt/venv/*'], folders: ['/opt/venv'] } };
  expect(refused(tau2, rights)).toBeNull();
  expect(refused({ ...tau2, tasks: { command: ['./server.py'] } }, rights)).toContain('environment.tasks.command');
});

test('a second command is asked for as well, servers of this project are not, and a module has none', () => {
  expect(refused({ kind: 'program', command: ['bash'], score: ['/opt/score'] }, null, true)).toMatch(
    /^environment\.score: "\/opt\/score" is not allowed/,
  );
  expect(refused({ command: ['bash'], folders: [join(projectRoot(), 'targets')] }, null, true)).toBeNull();
  expect(refused({ kind: 'module', path: 'desk.py' })).toBeNull();
});
