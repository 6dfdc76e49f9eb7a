// tier: integration
import { closeSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Gateway } from '../../gateway/gateway';
import { ListenError } from '../../gateway/listen-error';
import { readProcessConfig } from '../../gateway/process-config';
import { GatewayConfigError } from '../../loaders/gateway-config';
import { GatewayServer } from '../../gateway/server';

const folder = mkdtempSync(join(tmpdir(), 'whet-gateway-start-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('an address that the gateway cannot listen on', () => {
  // It does not get as far as to use its gateway.
  const server = () => new GatewayServer(undefined as unknown as Gateway);

  test('of another machine: a sentence about the configuration', async () => {
    const refused = {
      message: expect.stringContaining('this machine does not have that address (EADDRNOTAVAIL). Name one') as string,
      isConfiguration: true,
    };
    await expect(server().listen('192.0.2.1', 0)).rejects.toMatchObject(refused);
    const failure = server().listenForOperators('192.0.2.1', 0);
    await expect(failure).rejects.toMatchObject(refused);
    await expect(failure).rejects.toThrow('The gateway cannot listen on 192.0.2.1:0 (admin.host and port)');
  });

  test.each([
    ['ENOTFOUND', 'there is no host of that name', true],
    ['EAI_AGAIN', 'the name cannot be looked up now', false],
    ['EMFILE', 'too many', false],
  ])('%s: %s', (code, says, isConfiguration) => {
    const error = new ListenError('host', 'gateway.example:8400', Object.assign(new Error('too many'), { code }));
    expect(error.message).toContain(
      `The gateway cannot listen on gateway.example:8400 (host and port): ${says} (${code}).`,
    );
    expect(error.isConfiguration).toBe(isConfiguration);
  });

  test('a port that is taken: a sentence about the machine', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => other.once('listening', resolve));
    const { port } = other.address() as AddressInfo;
    try {
      await expect(server().listen('127.0.0.1', port)).rejects.toMatchObject({
        message: expect.stringContaining('the port is taken (EADDRINUSE)') as string,
        isConfiguration: false,
      });
    } finally {
      other.close();
    }
  });
});

test('a configuration larger than a variable of the environment comes through a descriptor', () => {
  const agents = Array.from({ length: 2_000 }, (_, i) => ({
    name: `agent-${i}`,
    baseModel: 'base',
    replicas: [`http://server-${i}.example:8000/v1`],
  }));
  const path = join(folder, 'config.json');
  writeFileSync(path, JSON.stringify({ version: 1, agents }));
  const descriptor = openSync(path, 'r');
  const { gateway } = readProcessConfig({ WHET_GATEWAY_CONFIG_FD: String(descriptor), WHET_GATEWAY_CONFIG: '{' });
  closeSync(descriptor);
  expect(gateway.agents).toHaveLength(2_000);
});

test('the key of the model servers is taken without the line feed of a secret', () => {
  const agents = [{ name: 'desk', baseModel: 'base', replicas: ['http://server.example:8000/v1'] }];
  const WHET_GATEWAY_CONFIG = JSON.stringify({ version: 1, agents });
  const keyOf = (key: string) => readProcessConfig({ WHET_GATEWAY_CONFIG, WHET_MODEL_API_KEY: key }).modelApiKey;
  expect([keyOf('sk-one\n'), keyOf('\n')]).toEqual(['sk-one', null]);
});

test.each([
  ['closed', '987', 'descriptor "987": EBADF'],
  ['no number', 'three', 'descriptor "three": that is no number of a descriptor.'],
  ['named by nothing', '', 'descriptor "": that is no number of a descriptor.'],
  ['empty', null, 'is not JSON'],
])('a descriptor that is %s is an error, and no other configuration is taken', (_name, given, says) => {
  const path = join(folder, 'empty.json');
  writeFileSync(path, '');
  const descriptor = openSync(path, 'r');
  const read = () =>
    readProcessConfig({ WHET_GATEWAY_CONFIG_FD: given ?? String(descriptor), WHET_GATEWAY_FILE: 'gateway.yaml' });
  expect(read).toThrow(GatewayConfigError);
  expect(read).toThrow(/^WHET_GATEWAY_CONFIG_FD: /);
  expect(read).toThrow(says);
  closeSync(descriptor);
});
