// tier: unit
import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readableFolder, whyHidden } from '../../sandbox/agent-folder';

// A test's own variables do not reach what Node asks the system for.
jest.mock('node:os', () => ({
  ...jest.requireActual<object>('node:os'),
  homedir: () => process.env['HOME'],
}));

describe('the folder that an owner’s module may read', () => {
  const { HOME, WHET_HOME } = process.env;
  let root: string;
  beforeEach(() => {
    root = mkdtempSync(join(realpathSync(tmpdir()), 'whet-folder-'));
    chmodSync(root, 0o755);
    for (const name of ['home', 'state/store/agent', 'agent', '..agent'])
      mkdirSync(join(root, name), { recursive: true, mode: 0o755 });
    process.env['HOME'] = join(root, 'home');
    process.env['WHET_HOME'] = join(root, 'state');
    symlinkSync(join(root, 'home'), join(root, 'link-home'));
    symlinkSync(join(root, 'agent'), join(root, 'link-agent'));
  });
  afterEach(() => {
    Object.assign(process.env, { HOME });
    if (WHET_HOME === undefined) delete process.env['WHET_HOME'];
    else process.env['WHET_HOME'] = WHET_HOME;
    rmSync(root, { recursive: true });
  });

  it.each(['home', 'link-home', 'state', 'state/store/agent', '.'])('is not %s', (name) => {
    expect(readableFolder(join(root, name, 'environment.py'))).toBeNull();
  });

  it.each(['/tmp', '/var', '/opt', '/home', '/', '/usr/lib'])('is not %s', (folder) => {
    expect(readableFolder(join(folder, 'environment.py'))).toBeNull();
  });

  it('names the state of whet and the cure, where whet was started in the folder of the agent', () => {
    process.env['WHET_HOME'] = join(root, 'agent', '.whetstone');
    expect(whyHidden(join(root, 'agent'))).toBe(
      `contains ${join(root, 'agent/.whetstone')}, where whet keeps its state: ` +
        'start whet in another folder, or set WHET_HOME to one',
    );
  });

  it.each(['agent', 'link-agent', '..agent'])('is %s, an agent’s own', (name) => {
    expect(readableFolder(join(root, name, 'environment.py'))).toBe(join(root, name));
  });
});
