import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { prepareRun } from '../../../activities/prepare';
import type { WorkerPolicy } from '../../../contracts/config/operator-policy';
import type { ImprovementRunInput } from '../../../contracts/messages/run';
import type { JailProbe } from '../../../sandbox';
import { FakePolicyServer } from '../../fakes/policy-server';
import { fixture as fixturePath, RunFixture } from '../run-fixture';

export const jail: JailProbe = {
  ok: true,
  layers: { user: null },
  missing: [],
  cgroup: 'v2',
};

/** Fake of an analyst endpoint's list of models. */
export async function analystServer(
  status: number,
  body: unknown,
): Promise<{ server: Server; url: string; keys: (string | undefined)[] }> {
  const keys: (string | undefined)[] = [];
  // The client's idle connections would keep the server open.
  const server = createServer({ keepAliveTimeout: 1 }, (request, response) => {
    keys.push(request.headers.authorization);
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(JSON.stringify(body));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`, keys };
}

/** The agent.yaml of the parcel desk. */
export const yaml = (more = ''): string => `version: 1
name: parcels
environment: { path: parcel_desk.py, trainSeeds: { start: 0, count: 20 }, heldOutSeeds: { start: 1000, count: 10 } }
model: { name: base, path: model }
synthesis: { maxAttempts: 3, onRejected: skip }
evaluation: { mixedAdapter: true }
${more}`;

/** How `prepareRun` is called, where it differs from a first attempt with a demo analyst. */
export interface PrepareOptions {
  probe?: JailProbe;
  input?: Partial<ImprovementRunInput>;
  apiKey?: string;
  analystUrl?: string;
  analystModel?: string;
  modelUrl?: string | null;
  attempt?: number;
  policy?: WorkerPolicy;
  ownFolders?: boolean;
}

/** A folder with an agent, and the servers that `prepareRun` asks. */
export class PrepareFixture {
  readonly fixture = new RunFixture();
  readonly folder = join(this.fixture.folder, 'agent');

  private constructor(
    readonly model: FakePolicyServer,
    readonly analyst: Awaited<ReturnType<typeof analystServer>>,
  ) {
    const { folder } = this;
    mkdirSync(join(folder, 'model'), { recursive: true });
    writeFileSync(join(folder, 'model', 'config.json'), '{}');
    writeFileSync(join(folder, 'model', 'model.safetensors'), 'weights');
    copyFileSync(fixturePath('parcel_desk.py'), join(folder, 'parcel_desk.py'));
    writeFileSync(join(folder, 'agent.yaml'), yaml());
  }

  static async start(): Promise<PrepareFixture> {
    const model = await new FakePolicyServer(() => ({})).start();
    const rules = { id: 'rules', owned_by: 'demo analyst (rule-based)' };
    return new PrepareFixture(model, await analystServer(200, { data: [rules] }));
  }

  async stop(): Promise<void> {
    await this.model.stop();
    this.analyst.server.close();
    this.analyst.server.closeAllConnections();
    await this.fixture.dispose();
  }

  /** Runs the activity. */
  prepare(options: PrepareOptions = {}) {
    const { fixture, model, analyst, folder } = this;
    return fixture.run(
      prepareRun.bind(null, {
        ...fixture.deps,
        webhook: { url: null, endpoints: [] },
        operatorPolicy: options.policy ?? null,
        allowsOwnFolders: options.ownFolders ?? false,
        probeJail: () => Promise.resolve(options.probe ?? jail),
        endpoints: {
          modelUrl: options.modelUrl === undefined ? `${model.baseUrl}/` : options.modelUrl,
          modelPath: null,
          modelApiKey: null,
          keyEndpoints: [],
          analyst: {
            demoUrl: analyst.url,
            model: options.analystModel ?? null,
            apiKey: options.apiKey ?? null,
            baseUrl: options.analystUrl ?? null,
          },
        },
      }),
      { runId: 'run-1', agent: 'parcels', specPath: join(folder, 'agent.yaml'), ...options.input },
      fixture.activity(options.attempt === undefined ? {} : { attempt: options.attempt }),
    );
  }
}
