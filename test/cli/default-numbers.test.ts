// tier: unit (numbers that stand in the code and in a file that cannot import it)
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { canarySchema } from '../../contracts/artifacts/registry';
import { gatewayConfigSchema } from '../../contracts/config/gateway-config';
import { TASK_QUEUES } from '../../contracts/names';
import { createProgram } from '../../cli/program';
import { PORTS, readSettings } from '../../cli/settings';
import { readConfig } from '../../workers/config';

const read = (path: string) => readFileSync(join(__dirname, '../..', path), 'utf8');
const { temporal, ui, model, analyst, gateway } = PORTS;

describe('ports', () => {
  test('docs/reference/variables.md says each variable with its default', () => {
    const rows = read('docs/reference/variables.md').replace(/ +/g, ' ');
    for (const group of [
      [temporal, ui],
      [model, analyst, gateway],
    ])
      expect(rows).toContain(
        `| ${group.map(({ variable }) => `\`${variable}\``).join(', ')} | ` +
          `${group.map(({ fallback }) => fallback).join(', ')} |`,
      );
  });
  test('the gateway, its page and its chart agree', () => {
    expect(gatewayConfigSchema.shape.port.parse(undefined)).toBe(gateway.fallback);
    expect(read('docs/guides/gateway.md')).toMatch(new RegExp(`port ${gateway.fallback}[^.]*${gateway.variable}`));
    expect(read('k8s/chart/templates/gateway.yaml')).toContain(`containerPort: ${gateway.fallback}`);
  });
  test('containers listen where `whet up` would', () => {
    const compose = read('docker/compose.yaml');
    for (const { fallback } of [temporal, ui]) expect(compose).toContain(`127.0.0.1:${fallback}:${fallback}`);
    expect(compose).toContain(`http://policy:${model.fallback}/v1`);
    expect(read('docker/policy.Dockerfile')).toContain(`"--port", "${model.fallback}"`);
  });
  test('a worker of your own looks for Temporal where `whet up` starts it', () => {
    expect(readConfig([], {}).temporalAddress).toBe(`127.0.0.1:${readSettings({}).ports.temporal}`);
  });
});

test('the worker image works on every task queue', () => {
  expect(read('docker/worker.Dockerfile')).toContain(`CMD ["--queues", "${Object.keys(TASK_QUEUES).join(',')}"]`);
});

test('whet canary offers no more than the registry takes', () => {
  const canary = { id: '0123456789ab', version: 1, startedAt: '2026-11-21T00:00:00Z' };
  const help = createProgram().commands.find((command) => command.name() === 'canary')!;
  const largest = (flag: string, text: string) => help.options.find(({ long }) => long === flag)!.parseArg!(text, 0);
  const share = largest('--share', '0.5');
  const falseRollback = largest('--false-rollback', '0.4');
  expect(canarySchema.safeParse({ ...canary, share, falseRollback }).success).toBe(true);
  expect(() => largest('--share', '0.51')).toThrow('at most 0.5');
  expect(() => largest('--false-rollback', '0.41')).toThrow('at most 0.4');
});

describe('versions of Node', () => {
  const [, major, minor] = /^>=(\d+)\.(\d+)$/.exec(
    (JSON.parse(read('package.json')) as { engines: { node: string } }).engines.node,
  )!;
  const setup = read('scripts/setup.sh');
  test('setup takes what package.json asks for', () => {
    expect(setup).toContain(`a > ${major} || (a === ${major} && b >= ${minor})`);
    expect(setup).toContain(`Node ${major}.${minor} or newer`);
  });
  test('setup and the worker image bring the same one', () => {
    const [, installed] = /^node_version=(\d+)\./m.exec(setup)!;
    expect(read('docker/worker.Dockerfile').match(/FROM node:\d+/g)).toEqual([
      `FROM node:${installed}`,
      `FROM node:${installed}`,
    ]);
  });
});
