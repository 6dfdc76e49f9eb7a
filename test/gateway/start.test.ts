// tier: integration
import { closeSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Gateway } from '../../gateway/gateway';
import { readProcessConfig } from '../../gateway/process-config';
import { GatewayServer } from '../../gateway/server';

const folder = mkdtempSync(join(tmpdir(), 'whet-gateway-start-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('an address that the gateway cannot listen on', () => {
  // It does not get as far as to use its gateway.
  const server = () => new GatewayServer(undefined as unknown as Gateway);

  test.each([
    ['no.such.host.invalid', /(no host of that name|cannot be looked up now) \((ENOTFOUND|EAI_AGAIN)\)/],
    ['192.0.2.1', /this machine does not have that address \(EADDRNOTAVAIL\)\. Name one of its own/],
  ])('%s: a sentence about the configuration', async (host, says) => {
    const refused = { message: expect.stringMatching(says) as string, isConfiguration: true };
    await expect(server().listen(host, 0)).rejects.toMatchObject(refused);
    const failure = server().listenForOperators(host, 0);
    await expect(failure).rejects.toMatchObject(refused);
    await expect(failure).rejects.toThrow(`The gateway cannot listen on ${host}:0 (admin.host and port)`);
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
