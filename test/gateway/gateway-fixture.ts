import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Registry, RegistryVersion } from '../../contracts/artifacts/registry';
import type { GatewayConfigInput } from '../../contracts/config/gateway-config';
import { checkGatewayConfig } from '../../loaders/gateway-config';
import { Gateway } from '../../gateway/gateway';
import { GatewayServer } from '../../gateway/server';
import type { Log } from '../../gateway/log';
import type { Tracing } from '../../gateway/opentelemetry';
import { layout, LocalStore, putJson } from '../../store';
import { FakeReplica } from '../fakes/replica';

/** A loaded machine must not send conversations to the base model. What happens after the limit has its own test. */
const ROUTER_MS = 60_000;

/** The paper's router over these capabilities. */
const routerOver = (capabilities: readonly string[]) => ({
  kind: 'logits' as const,
  leftOut: [],
  capabilities: capabilities.map((id) => ({ id, summary: `${id} the parcel` })),
  temperature: 1,
  threshold: 0,
});

/** Where `setRegistry` puts that router. */
function judgedRouterOver(capabilities: readonly string[]): RegistryVersion['judgedRouter'] {
  const text = `${JSON.stringify(routerOver(capabilities), null, 2)}\n`;
  const sha256 = createHash('sha256').update(text).digest('hex');
  const key = `routers/router-${sha256.slice(0, 12)}.json`;
  return { kind: 'logits', artifact: { key, sha256, bytes: text.length, mediaType: 'application/json' } };
}

/** A version with an adapter for each capability; names carry the version. */
export function versionOf(version: number, ...capabilities: string[]): RegistryVersion {
  return {
    version,
    runId: `run-${version}`,
    createdAt: '2026-11-21T00:00:00Z',
    replaced: null,
    baseModelSha256: 'a'.repeat(64),
    adapters: capabilities.map((id) => ({
      name: adapterName(id, version),
      capabilityId: id,
      summary: `${id} the parcel`,
      key: `adapters/desk/${id}-${version}`,
      sha256: 'b'.repeat(64),
    })),
    routedMinusBase: { estimate: 0.4, low: 0.3, high: 0.5 },
    judgedRouter: judgedRouterOver(capabilities),
  };
}

export const adapterName = (capability: string, version: number): string =>
  `${capability}@${String(version).repeat(12)}`;

// Whatever came over the wire: tests say what they expect.
// eslint-disable-next-line @typescript-eslint/no-explicit-any
type Wire = Record<string, any>;

/** An answer of the gateway, read to its end. */
export interface Answer {
  status: number;
  headers: Headers;
  text: string;
  json: Wire;
}

/** The real gateway on a port, in front of fake model servers. */
export class GatewayFixture {
  readonly folder = mkdtempSync(join(tmpdir(), 'whet-gateway-'));
  readonly store = new LocalStore(join(this.folder, 'store'));
  readonly replicas: FakeReplica[] = [];
  /** Messages of the log's errors. */
  readonly errors: string[] = [];
  private readonly log: Log = {
    info: () => undefined,
    warn: () => undefined,
    error: (...words: unknown[]) => void this.errors.push(words.filter((word) => typeof word === 'string').join(' ')),
    debug: () => undefined,
  };
  gateway!: Gateway;
  server!: GatewayServer;
  url = '';
  /** Where operators ask, when the configuration has `admin`. */
  adminUrl = '';

  /** Starts with `replicas` model servers and a registry; resolves when the gateway is ready. */
  async start(
    options: {
      registry?: Partial<Registry> & Pick<Registry, 'versions'>;
      replicas?: number;
      agent?: Partial<GatewayConfigInput['agents'][number]>;
      config?: Partial<GatewayConfigInput>;
      /** Name of a second agent at the same model servers. */
      secondAgent?: string;
      ready?: boolean;
      tracing?: Tracing | null;
      modelApiKey?: string;
    } = {},
  ): Promise<this> {
    for (let i = 0; i < (options.replicas ?? 1); i++) this.replicas.push(await new FakeReplica().start());
    const { registry, agent: { router } = {} } = options;
    if (registry !== undefined)
      await this.setRegistry({ agent: 'desk', active: registry.versions.at(-1)?.version ?? null, ...registry });
    const config = checkGatewayConfig(
      {
        version: 1,
        port: 0,
        registryPollMs: 20,
        reconcile: { everyMs: 50, drainMs: 100 },
        ...options.config,
        agents: [
          {
            name: 'desk',
            baseModel: 'desk-base',
            replicas: this.replicas.map(({ url }) => url),
            ...options.agent,
            router: { timeoutMs: ROUTER_MS, ...router },
          },
          ...(options.secondAgent === undefined
            ? []
            : [{ name: options.secondAgent, baseModel: 'desk-base', replicas: this.replicas.map(({ url }) => url) }]),
        ],
      },
      'test',
    );
    const { tracing = null, modelApiKey = null } = options;
    this.gateway = new Gateway(config, { store: this.store, log: this.log, tracing, modelApiKey });
    this.server = new GatewayServer(this.gateway);
    await this.gateway.start();
    const { admin } = config;
    if (admin !== undefined)
      this.adminUrl = `http://127.0.0.1:${await this.server.listenForOperators(admin.host, admin.port)}`;
    this.url = `http://127.0.0.1:${await this.server.listen('127.0.0.1', 0)}`;
    if (options.ready !== false) await this.until(() => this.gateway.unready().length === 0 && this.allReady());
    return this;
  }

  async stop(): Promise<void> {
    await this.server.drain(100);
    await this.gateway.stop();
    for (const replica of this.replicas) await replica.stop();
    rmSync(this.folder, { recursive: true, force: true });
  }

  async setRegistry(registry: Registry): Promise<void> {
    for (const { adapters } of registry.versions)
      await putJson(this.store, 'routers', 'router.json', routerOver(adapters.map(({ capabilityId }) => capabilityId)));
    const key = layout.registry('desk');
    await this.store.swapDocument(key, registry, (await this.store.readDocument(key))?.version ?? null);
  }

  /** Polls until something holds; fails after two minutes. */
  async until(holds: () => boolean | Promise<boolean>): Promise<void> {
    const deadline = Date.now() + 120_000;
    while (!(await holds())) {
      if (Date.now() > deadline) throw new Error(`${holds.toString()} did not come true.`);
      await sleep(5);
    }
  }

  /** The agent under test. */
  get agent() {
    return this.gateway.agents.get('desk')!;
  }

  async post(path: string, body: unknown, headers: Record<string, string> = {}, signal?: AbortSignal): Promise<Answer> {
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    return read(
      await fetch(this.url + path, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: text,
        ...(signal ? { signal } : {}),
      }),
    );
  }

  async get(path: string, headers: Record<string, string> = {}): Promise<Answer> {
    return read(await fetch(this.url + path, { headers }));
  }

  /** One chat request with a user turn. */
  chat(content: string, more: Record<string, unknown> = {}, headers: Record<string, string> = {}): Promise<Answer> {
    return this.post(
      '/v1/chat/completions',
      { model: 'desk', messages: [{ role: 'user', content }], ...more },
      headers,
    );
  }

  private allReady(): boolean {
    const wanted = this.agent.wantedVersions().flatMap(({ adapters }) => adapters);
    return this.agent.replicas.all.every(
      (replica) => replica.ready && wanted.every(({ name }) => replica.routable.has(name)),
    );
  }
}

async function read(response: Response): Promise<Answer> {
  const text = await response.text();
  let json: Wire = {};
  try {
    json = JSON.parse(text) as Wire;
  } catch {
    // A stream or metrics.
  }
  return { status: response.status, headers: response.headers, text, json };
}
