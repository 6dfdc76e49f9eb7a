// tier: integration
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { checkGatewayConfig } from '../../loaders/gateway-config';
import { adapterName, GatewayFixture, versionOf } from './gateway-fixture';

test('adapters are loaded at the port of model servers that is for operators', async () => {
  const fixture = new GatewayFixture();
  const asked: string[] = [];
  const admin = createServer((request, response) => {
    let text = '';
    request.on('data', (data: Buffer) => (text += data.toString()));
    request.on('end', () => {
      const { lora_name: name } = JSON.parse(text) as { lora_name: string };
      asked.push(`${request.url} ${name}`);
      fixture.replicas[0]!.adapters.add(name);
      response.end('Success');
    });
  });
  await new Promise<void>((resolve) => admin.listen(0, '127.0.0.1', resolve));
  const { port: adminPort } = admin.address() as AddressInfo;
  await fixture.start({ registry: { versions: [versionOf(1, 'weigh')] }, agent: { adminPort } });
  const name = adapterName('weigh', 1);
  expect((await fixture.chat('need:weigh')).json['model']).toBe(name);
  expect(asked).toEqual([`/v1/load_lora_adapter ${name}`]);
  expect(fixture.replicas[0]!.history).toEqual([`probe ${name}`]);
  await fixture.stop();
  await new Promise<void>((resolve) => admin.close(() => resolve()));
});

test('agents that share a model server name one port of it', () => {
  const agent = (name: string, adminPort?: number) => ({ name, baseModel: 'b', replicas: ['http://x/v1'], adminPort });
  expect(() => checkGatewayConfig({ version: 1, agents: [agent('a', 9000), agent('b')] }, 'gateway.yaml')).toThrow(
    'gateway.yaml: agents.1.adminPort: differs from that of another agent with the server http://x/v1',
  );
});
