// tier: unit
import type { AdapterCheck, WantedAdapter } from '../../../gateway/upstream/adapter-check';
import { AdapterReconciler } from '../../../gateway/upstream/adapter-reconciler';
import type { Replica } from '../../../gateway/upstream/replica';

const adapter = (name: string): WantedAdapter => ({ name, path: `/adapters/${name}`, sha256: 'a'.repeat(64) });

/** A reconciler that checks again when it is kicked only, and what it asks for. */
function reconciling(options: { isDown?: boolean } = {}) {
  const asked: string[] = [];
  const checks: { adapters: readonly WantedAdapter[]; end: () => void }[] = [];
  const waiting: (() => void)[] = [];
  const happened = () => waiting.splice(0).forEach((resolve) => resolve());
  const served = ['base'];
  const ask = (path: string, body: { lora_name?: string } | null) => {
    asked.push(path);
    happened();
    if (options.isDown === true) return Promise.reject(new Error('connect ECONNREFUSED'));
    if (path === '/load_lora_adapter') served.push(body!.lora_name!);
    return Promise.resolve(
      path === '/models' ? JSON.stringify({ data: served.map((id) => ({ id })) }) : '{"choices": [{}]}',
    );
  };
  const unchanged = (adapters: readonly WantedAdapter[]) =>
    new Promise<readonly WantedAdapter[]>((resolve) => {
      checks.push({ adapters, end: () => resolve(adapters) });
      happened();
    });
  const wanted = [adapter('weigh')];
  const replica = { ask, url: 'http://m', ready: false, epoch: 0, routable: new Set(), inFlightByModel: new Map() };
  const log = { info: () => undefined, warn: () => undefined, error: () => undefined, debug: () => undefined };
  const reconciler = new AdapterReconciler({
    replica: replica as unknown as Replica,
    settings: { everyMs: 1_000_000, drainMs: 0, manageAdapters: true },
    baseModels: () => ['base'],
    wanted: () => [...wanted],
    adapterCheck: { unchanged } as unknown as AdapterCheck,
    known: () => new Set(),
    onReady: happened,
    log,
  });
  const until = async (holds: () => boolean) => {
    while (!holds()) await new Promise<void>((resolve) => waiting.push(resolve));
  };
  return { reconciler, replica, asked, checks, wanted, until };
}

describe('AdapterReconciler', () => {
  it('reads no adapter while the server does not answer', async () => {
    const { reconciler, asked, checks, until } = reconciling({ isDown: true });
    reconciler.start();
    await until(() => asked.length >= 2);
    await reconciler.stop();
    expect([new Set(asked), checks]).toEqual([new Set(['/models']), []]);
  });

  it('stops while adapters are being read', async () => {
    const { reconciler, replica, checks, until } = reconciling();
    reconciler.start();
    await until(() => checks.length === 1);
    await reconciler.stop();
    expect(replica.ready).toBe(false);
  });

  it('learns of a promotion that came while adapters were being read', async () => {
    const { reconciler, replica, checks, wanted, until } = reconciling();
    reconciler.start();
    await until(() => checks.length === 1);
    wanted.push(adapter('count'));
    reconciler.kick();
    checks[0]!.end();
    await until(() => checks.length === 2);
    checks[1]!.end();
    await until(() => replica.routable.size === 2);
    await reconciler.stop();
    expect([...replica.routable]).toEqual(['weigh', 'count']);
  });
});
