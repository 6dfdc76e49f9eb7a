// tier: integration
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  activateVersion,
  changeRegistry,
  endCanary,
  type LocalStore,
  readRegistry,
  rollbackVersion,
  startCanary,
} from '../../store';
import { modelDirectorySha256 } from '../../store/model-hash';
import { FakeReplica } from '../fakes/replica';
import { damageDocument } from '../helpers/stored-document';
import { adapterName, GatewayFixture, versionOf } from './gateway-fixture';

const versions = [versionOf(1, 'weigh'), versionOf(2, 'weigh'), versionOf(3, 'weigh')];

describe('the gateway and its registry', () => {
  let fixture: GatewayFixture;
  afterEach(() => fixture.stop());
  const started = async (options: Parameters<GatewayFixture['start']>[0] = {}) => {
    fixture = await new GatewayFixture().start({ registry: { versions, active: 1 }, ...options });
    return fixture;
  };
  const answeredBy = async (content = 'need:weigh') => (await fixture.chat(content)).json['model'] as string;

  it('follows a promotion and a rollback, in begun conversations too', async () => {
    await started();
    expect(await answeredBy()).toBe(adapterName('weigh', 1));
    await changeRegistry(fixture.store, 'desk', (registry) => activateVersion(registry, 2));
    await fixture.until(() => fixture.agent.registry.active === 2);
    await fixture.until(async () => (await answeredBy()) === adapterName('weigh', 2));
    await changeRegistry(fixture.store, 'desk', rollbackVersion);
    await fixture.until(async () => (await answeredBy()) === adapterName('weigh', 1));
  });

  it('loads, probes and only then routes; stops routing, drains and only then unloads', async () => {
    await started({ registry: { versions, active: 1 }, config: { reconcile: { everyMs: 20, drainMs: 60 } } });
    const [replica] = fixture.replicas;
    expect(replica!.history).toEqual([`load ${adapterName('weigh', 1)}`, `probe ${adapterName('weigh', 1)}`]);
    await changeRegistry(fixture.store, 'desk', (registry) => activateVersion(registry, 3));
    await fixture.until(() => !replica!.adapters.has(adapterName('weigh', 1)));
    // Version 2 is the one before, kept loaded for a rollback.
    expect(replica!.history.slice(2)).toEqual([
      ...[3, 2].sort().flatMap((v) => [`load ${adapterName('weigh', v)}`, `probe ${adapterName('weigh', v)}`]),
      `unload ${adapterName('weigh', 1)}`,
    ]);
  });

  it('never unloads an adapter that a request is using, nor one that no registry knows', async () => {
    await started({ config: { reconcile: { everyMs: 20, drainMs: 20 } } });
    const [replica] = fixture.replicas;
    replica!.adapters.add('somebody-elses');
    let finish: () => void = () => undefined;
    replica!.behaviour = (_, response) => (
      (finish = () => response.writeHead(200, { 'content-type': 'application/json' }).end('{}')),
      true
    );
    const slow = fixture.chat('hi', { model: adapterName('weigh', 1) });
    await fixture.until(() => replica!.completions().length === 1);
    replica!.behaviour = null;
    await changeRegistry(fixture.store, 'desk', (registry) => activateVersion(registry, 3));
    await fixture.until(() => fixture.agent.registry.active === 3);
    await sleep(150);
    expect(replica!.adapters.has(adapterName('weigh', 1))).toBe(true);
    finish();
    expect((await slow).status).toBe(200);
    await fixture.until(() => !replica!.adapters.has(adapterName('weigh', 1)));
    expect(replica!.adapters.has('somebody-elses')).toBe(true);
  });

  it('gives a restarted model server its adapters back before any traffic', async () => {
    await started({ replicas: 2 });
    const [first, second] = fixture.replicas;
    await first!.stop();
    await fixture.until(() => !fixture.agent.replicas.all[0]!.ready);
    first!.requests.length = 0;
    first!.history.length = 0;
    await first!.start();
    await Promise.all(Array.from({ length: 40 }, (_, i) => answeredBy(`need:weigh ${i}`))).then((models) =>
      expect(new Set(models)).toEqual(new Set([adapterName('weigh', 1)])),
    );
    await fixture.until(() => fixture.agent.replicas.all[0]!.ready);
    expect(first!.history).toEqual([`load ${adapterName('weigh', 1)}`, `probe ${adapterName('weigh', 1)}`]);
    expect(second!.history.filter((entry) => entry.startsWith('unload'))).toEqual([]);
  });

  it('serves the base model while an adapter cannot be loaded, and says why', async () => {
    fixture = new GatewayFixture();
    const broken = await new FakeReplica().start();
    broken.behaviour = null;
    Object.defineProperty(broken, 'adapters', {
      value: {
        add: () => undefined,
        delete: () => false,
        clear: () => undefined,
        has: () => false,
        [Symbol.iterator]: () => [][Symbol.iterator](),
      },
    });
    await fixture.start({
      replicas: 0,
      registry: { versions, active: 1 },
      agent: { replicas: [broken.url] },
      ready: false,
    });
    await fixture.until(() => fixture.gateway.unready().length === 0);
    const answer = await fixture.chat('need:weigh');
    expect([answer.json['model'], answer.headers.get('x-whet-route')]).toEqual(['desk-base', 'adapter-not-ready']);
    await broken.stop();
  });

  it('keeps the last registry when the document is damaged', async () => {
    await started();
    damageDocument(fixture.store, 'registry/desk.json', '{"agent": ');
    await sleep(100);
    expect(await answeredBy()).toBe(adapterName('weigh', 1));
  });

  /** A version whose adapter is in the store, and the file of its weights. */
  const storedVersion = async () => {
    const [version] = versions;
    const path = fixture.store.localPath(version!.adapters[0]!.key);
    const weights = join(path, 'adapter_model.safetensors');
    mkdirSync(path, { recursive: true });
    writeFileSync(join(path, 'adapter_config.json'), '{"r": 4}');
    writeFileSync(weights, 'weights');
    const adapters = [{ ...version!.adapters[0]!, sha256: await modelDirectorySha256(path) }];
    return { weights, version: { ...version!, adapters } };
  };

  it('stops serving an adapter whose bytes change, and serves it again when they are back', async () => {
    fixture = new GatewayFixture();
    const { version, weights } = await storedVersion();
    await fixture.start({ registry: { versions: [version], active: 1 } });
    expect(await answeredBy()).toBe(adapterName('weigh', 1));
    writeFileSync(weights, 'weightz');
    await fixture.until(() => fixture.replicas[0]!.adapters.size === 0);
    const answer = await fixture.chat('need:weigh');
    expect([answer.json['model'], answer.headers.get('x-whet-route')]).toEqual(['desk-base', 'adapter-not-ready']);
    const named = await fixture.chat('hi', { model: adapterName('weigh', 1) });
    expect([named.status, named.json['error']?.code]).toEqual([503, 'adapter_not_ready']);
    expect(fixture.errors).toEqual([expect.stringContaining('is not what its version was promoted with')]);
    writeFileSync(weights, 'weights');
    await fixture.until(async () => (await answeredBy()) === adapterName('weigh', 1));
  });

  it('never loads an adapter that has other bytes than its version', async () => {
    fixture = new GatewayFixture();
    const { version, weights } = await storedVersion();
    writeFileSync(weights, 'other');
    await fixture.start({ registry: { versions: [version], active: 1 }, ready: false });
    await fixture.until(() => fixture.gateway.unready().length === 0);
    expect(await answeredBy()).toBe('desk-base');
    expect(fixture.replicas[0]!.history).toEqual([]);
  });

  it('sends a conversation to the same model server while it can', async () => {
    await started({ replicas: 3 });
    const seen = () => fixture.replicas.map((replica) => replica.completions().length);
    for (let i = 0; i < 6; i++) await fixture.chat('need:weigh always the same');
    expect(seen().sort()).toEqual([0, 0, 6]);
    for (let i = 0; i < 60; i++) await fixture.chat(`need:weigh ${i}`);
    expect(Math.min(...seen())).toBeGreaterThan(5);
  });
});

describe('a canary in the registry', () => {
  const fixture = new GatewayFixture();
  afterAll(() => fixture.stop());
  const canary = (id: string, version: number) => ({
    id: id.repeat(12),
    version,
    share: 0.2,
    falseRollback: 0.05,
    startedAt: '2026-11-21T00:00:00Z',
  });

  it('starts beside the active version, ends with a promotion, and is what a rollback takes back first', async () => {
    await fixture.start({ registry: { versions, active: 1 } });
    const store: LocalStore = fixture.store;
    const now = () => readRegistry(store, 'desk');
    await changeRegistry(store, 'desk', (registry) => startCanary(registry, canary('a', 2)));
    expect(await now()).toMatchObject({ active: 1, canary: { version: 2 } });
    await changeRegistry(store, 'desk', rollbackVersion);
    expect(await now()).toMatchObject({ active: 1, lastCanary: { version: 2, outcome: 'rolled-back' } });
    expect((await now()).canary).toBeUndefined();
    await changeRegistry(store, 'desk', (registry) => startCanary(registry, canary('b', 3)));
    await changeRegistry(store, 'desk', (registry) => activateVersion(registry, 3));
    expect(await now()).toMatchObject({ active: 3, lastCanary: { version: 3, outcome: 'promoted' } });
  });

  it('refuses a version that is missing or active, and ignores a rollback that comes too late', async () => {
    const registry = { agent: 'desk', active: 3, versions, canary: canary('c', 2) };
    expect(() => startCanary(registry, canary('d', 9))).toThrow('no version 9');
    expect(() => startCanary(registry, canary('d', 3))).toThrow('gets all conversations already');
    expect(endCanary(registry, 'rolled-back', 'late', 'e'.repeat(12)).changed).toBe(false);
    expect(endCanary(registry, 'rolled-back', 'in time', 'c'.repeat(12)).registry.canary).toBeUndefined();
  });
});
