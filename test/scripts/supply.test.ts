// tier: unit
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = join(__dirname, '..', '..');
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');

/** The last stage of a Dockerfile: what is in the image. */
const lastStage = (path: string) =>
  read(path)
    .split(/^(?=FROM )/m)
    .at(-1)!;

describe('what is installed is what was reviewed', () => {
  it.each([
    ['trainer-image/requirements.lock', 80],
    ['trainer-image/installer.lock', 1],
    ['test/with-vllm/requirements.lock', 100],
    ['scripts/sbom.lock', 5],
    ['targets/locks/openenv.lock', 100],
    ['targets/locks/tau2.lock', 100],
    ['targets/locks/toolsandbox.lock', 45],
    ['targets/locks/verifiers.lock', 90],
  ])('%s has a hash for each package', (path, least) => {
    const packages = read(path)
      .split(/^(?=[a-zA-Z0-9])/m)
      .filter((entry) => /^[a-zA-Z0-9]/.test(entry));
    expect(packages.length).toBeGreaterThanOrEqual(least);
    expect(packages.filter((entry) => !/^\S+==\S+/.test(entry) || !/--hash=sha256:[0-9a-f]{64}/.test(entry))).toEqual(
      [],
    );
  });

  it.each(['package-lock.json', 'scripts/node/package-lock.json'])('%s has a hash for each package', (path) => {
    const { packages } = JSON.parse(read(path)) as { packages: Record<string, { integrity?: string }> };
    const unhashed = Object.entries(packages).filter(([name, { integrity }]) => name !== '' && !integrity);
    expect(unhashed).toEqual([]);
    expect(read(path)).not.toContain('"resolved"');
  });

  it('the setup installs the Node that its lock file names', () => {
    const [, version] = /^node_version=(\S+)$/m.exec(read('scripts/setup.sh'))!;
    expect(read('scripts/node/package.json').match(/[0-9]+\.[0-9]+\.[0-9]+/g)).toEqual([version, version]);
  });

  it('the setup installs all packages, in the virtual environment, whatever the shell says', () => {
    const setup = read('scripts/setup.sh');
    const [, everything] = /^everything=\((.*)\)$/m.exec(setup)!;
    const outside = { ...process.env, NODE_ENV: 'production', npm_config_omit: 'optional', PIP_USER: '1' };
    const exported = [...setup.matchAll(/^export (\w+=\d)$/gm)].map(([, variable]) => variable);
    const run = (command: string) =>
      execFileSync('bash', ['-c', `export ${exported.join(' ')} X=; ${command}`], { env: outside, encoding: 'utf8' });
    expect(run(`npm config get omit ${everything}`).trim()).toBe('');
    expect(run('echo $PIP_USER').trim()).toBe('0');
    expect(setup.match(/npm ci .*/g)).toEqual(Array(2).fill(expect.stringContaining('"${everything[@]}"')));
  });

  it.each([
    'scripts/setup.sh',
    'scripts/vllm.sh',
    'docker/policy.Dockerfile',
    'docker/worker.Dockerfile',
    'trainer-image/Dockerfile',
  ])('%s installs Python packages by their hashes only', (path) => {
    const commands = read(path).replaceAll('\\\n', ' ').split(/\n|&&/);
    const installs = commands.filter((command) => /pip"? install/.test(command));
    expect(installs.length).toBeGreaterThan(0);
    expect(installs.filter((command) => !command.includes('--require-hashes'))).toEqual([]);
  });
});

describe('images', () => {
  const digest = /@sha256:[0-9a-f]{64}$/;

  it.each(['docker/policy.Dockerfile', 'docker/worker.Dockerfile'])('%s begins with images named by digest', (path) => {
    const images = [...read(path).matchAll(/^FROM (\S+)/gm)].map(([, image]) => image!);
    expect(images.filter((image) => !digest.test(image))).toEqual([]);
  });

  it('compose starts images named by digest', () => {
    const images = [...read('docker/compose.yaml').matchAll(/^\s+image: (\S+)/gm)].map(([, image]) => image!);
    expect(images.filter((image) => !digest.test(image))).toEqual([]);
    expect(images).not.toEqual([]);
  });

  it.each(['docker/policy.Dockerfile', 'docker/worker.Dockerfile', 'trainer-image/Dockerfile'])(
    '%s runs as a user that is not root',
    (path) => {
      expect([...lastStage(path).matchAll(/^USER (\S+)$/gm)].map(([, user]) => user)).toEqual(['10001:10001']);
    },
  );
});
