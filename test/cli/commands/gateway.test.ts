// tier: unit
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Registry } from '../../../contracts/artifacts/registry';
import { canaryCommand } from '../../../cli/commands/canary';
import { gatewayConfig } from '../../../cli/commands/gateway';
import { promoteCommand, rollbackCommand } from '../../../cli/commands/registry';
import type { Context } from '../../../cli/context';
import { createOutput } from '../../../cli/output';
import { readSettings } from '../../../cli/settings';
import { makePlan } from '../../../cli/supervisor/plan';
import { services } from '../../../cli/supervisor/services';
import { readAgent } from '../../../cli/agent';
import { layout, LocalStore, readRegistry } from '../../../store';

const AGENT = join(__dirname, '../../..', 'examples', 'orders-desk', 'agent.yaml');
const folder = mkdtempSync(join(tmpdir(), 'whet-gateway-cli-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const settings = readSettings({ WHET_HOME: folder, WHET_GATEWAY_PORT: '8477' });

describe('the configuration of `whet gateway`', () => {
  it('comes from agent.yaml files', () => {
    expect(gatewayConfig(settings, [AGENT], { upstream: [] })).toMatchObject({
      port: 8477,
      host: '127.0.0.1',
      agents: [{ name: 'orders-desk', replicas: ['http://127.0.0.1:8300/v1'], router: { timeoutMs: 150 } }],
    });
    expect(gatewayConfig(settings, [AGENT], { upstream: ['http://a/v1', 'http://b/v1'], port: 0 })).toMatchObject({
      port: 0,
      agents: [{ replicas: ['http://a/v1', 'http://b/v1'] }],
    });
  });

  it('or from gateway.yaml, whose errors say path, value and what is allowed', () => {
    const file = join(folder, 'gateway.yaml');
    writeFileSync(
      file,
      'version: 1\nagents:\n  - {name: desk, baseModel: b, replicas: [http://x/v1], fallback: magic, ' +
        'colour: red}\n',
    );
    const attempt = () => gatewayConfig(settings, [], { config: file, upstream: [] });
    expect(attempt).toThrow(`${file}: agents.0.fallback: "magic" is not allowed. Allowed: "base", "error".`);
    expect(attempt).toThrow('agents.0.colour: unknown field. Known here: name, baseModel, replicas,');
    writeFileSync(
      file,
      'version: 1\nagents:\n  - {name: desk, baseModel: b, replicas: [http://x/v1], router: {topP: 0.9}}\n',
    );
    expect(attempt).toThrow(
      expect.objectContaining({
        exitCode: 2,
        message: `${file}: agents.0.router.topP: unknown field. Known here: timeoutMs.`,
      }),
    );
    expect(() => gatewayConfig(settings, [AGENT], { config: file, upstream: [] })).toThrow(
      'either agent.yaml files or --config',
    );
    expect(() => gatewayConfig(settings, [], { config: join(folder, 'none.yaml'), upstream: [] })).toThrow(
      'there is no such file',
    );
  });
});

test('`whet up` starts a gateway in front of the agent', async () => {
  const plan = await makePlan(settings, { agent: readAgent(AGENT), anyPort: true });
  const gateway = services(plan, () => null).find(({ name }) => name === 'gateway');
  const config = JSON.parse(gateway?.environment()['WHET_GATEWAY_CONFIG'] ?? '{}') as unknown;
  expect(config).toMatchObject({
    agents: [{ name: 'orders-desk', replicas: [`http://127.0.0.1:${plan.model?.port}/v1`] }],
  });
  expect(gateway?.url).toBe(`http://127.0.0.1:${plan.gateway?.port}/v1`);
  expect(gateway?.needs).toEqual(['policy']);
});

describe('whet canary', () => {
  const said: unknown[] = [];
  const context: Context = { settings, out: { ...createOutput(true), result: (value) => void said.push(value) } };
  const store = new LocalStore(settings.storeRoot);
  const version = (n: number): Registry['versions'][number] => ({
    version: n,
    runId: `run-${n}`,
    createdAt: '2026-11-21T00:00:00Z',
    replaced: null,
    baseModelSha256: 'a'.repeat(64),
    adapters: [],
    routedMinusBase: { estimate: 0.4, low: 0.3, high: 0.5 },
    judgedRouter: {
      kind: 'base',
      artifact: { key: 'r.json', sha256: '0'.repeat(64), bytes: 1, mediaType: 'application/json' },
    },
  });
  const flags = { share: 0.1, falseRollback: 0.05 };

  it('starts, shows, stops, and is taken back first by a rollback', async () => {
    await store.swapDocument(
      layout.registry('desk'),
      { agent: 'desk', active: 1, versions: [version(1), version(2)] },
      null,
    );
    await canaryCommand(context, 'desk', 2, flags);
    expect((await readRegistry(store, 'desk')).canary).toMatchObject({
      version: 2,
      share: 0.1,
      id: expect.stringMatching(/^[0-9a-f]{12}$/),
    });
    await canaryCommand(context, 'desk', undefined, flags);
    expect(said.at(-1)).toMatchObject({ active: 1, canary: { version: 2 } });
    await canaryCommand(context, 'desk', undefined, { ...flags, stop: true });
    await canaryCommand(context, 'desk', 2, flags);
    await rollbackCommand(context, 'desk');
    expect(said.at(-1)).toEqual({ agent: 'desk', before: 1, active: 1, endedCanary: 2 });
    await canaryCommand(context, 'desk', 2, flags);
    await promoteCommand(context, 'desk', 2);
    expect(await readRegistry(store, 'desk')).toMatchObject({ active: 2, lastCanary: { outcome: 'promoted' } });
  });

  it('refuses what makes no sense with exit code 2', async () => {
    await expect(canaryCommand(context, 'desk', 2, flags)).rejects.toMatchObject({
      exitCode: 2,
      message: expect.stringContaining('gets all conversations already'),
    });
    await expect(canaryCommand(context, 'desk', 9, flags)).rejects.toMatchObject({ exitCode: 2 });
    await expect(canaryCommand(context, 'desk', undefined, { ...flags, stop: true })).rejects.toMatchObject({
      exitCode: 2,
      message: expect.stringContaining('has no canary'),
    });
    await expect(canaryCommand(context, 'nobody', 1, flags)).rejects.toMatchObject({ type: 'Registry.Missing' });
  });
});
