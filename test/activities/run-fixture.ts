import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Info } from '@temporalio/activity';
import { MockActivityEnvironment } from '@temporalio/testing';
import { DefaultLogger } from '@temporalio/worker';
import type { RolloutDeps } from '../../activities/rollout/rollout-deps';
import { environmentOpener, HttpModelClient } from '../../activities/rollout';
import type { PreparedSpec } from '../../contracts/artifacts/prepared-spec';
import { type AgentSpecInput, agentSpecSchema } from '../../contracts/config/agent-spec';
import { MODULE_FACTS } from '../../contracts/config/environment-kinds/facts';
import type { RunContext, StageProgress } from '../../contracts/messages/run-context';
import { openEnvironment } from '../../sandbox';
import { layout, LocalStore, putJson } from '../../store';

/** Path of an environment for tests. */
export const fixture = (name: string): string => join(__dirname, 'fixtures', name);

/** A store in a temporary folder, a prepared spec in it, and the real parts that activities need. */
export class RunFixture {
  readonly folder = mkdtempSync(join(tmpdir(), 'whet-test-'));
  readonly store = new LocalStore(this.folder);
  readonly client = new HttpModelClient({ timeoutMs: 60_000 });
  readonly heartbeats: StageProgress[] = [];
  readonly deps: RolloutDeps = {
    store: this.store,
    openEnvironment: environmentOpener(openEnvironment),
    model: this.client,
    endpoints: { modelUrl: null },
  };

  /** Freezes a spec whose environment is `test/activities/fixtures/<file>`. */
  async prepare(
    modelBaseUrl: string,
    spec: Partial<AgentSpecInput> = {},
    file = 'parcel_desk.py',
    runId = 'run-1',
  ): Promise<RunContext> {
    const environmentPath = fixture(file);
    const full = agentSpecSchema.parse({
      version: 1,
      name: 'parcels',
      environment: {
        path: file,
        trainSeeds: { start: 0, count: 20 },
        heldOutSeeds: { start: 1000, count: 10 },
        maxTurns: 4,
      },
      model: { name: 'base' },
      ...spec,
    });
    const prepared: PreparedSpec = {
      spec: full,
      environmentPath,
      environmentSha256: createHash('sha256').update(readFileSync(environmentPath)).digest('hex'),
      facts: MODULE_FACTS,
      modelBaseUrl,
      modelPath: '/nowhere',
      baseModelSha256: '0'.repeat(64),
      servedModel: { weightsSha256: null, root: null, maxModelLength: 2048 },
      analyst: { baseUrl: 'http://127.0.0.1:1/v1', model: 'none', displayName: 'none' },
      sandbox: { mode: 'jail', detail: 'test' },
    };
    return {
      runId,
      agent: full.name,
      spec: await putJson(this.store, layout.run(runId), 'spec.json', prepared),
      seed: 7,
    };
  }

  /** An activity context whose heartbeats are kept. */
  activity(info: Partial<Info> = {}): MockActivityEnvironment {
    const environment = new MockActivityEnvironment(
      { scheduledTimestampMs: Date.now(), ...info },
      { logger: new DefaultLogger('ERROR') },
    );
    environment.on('heartbeat', (details: StageProgress) => this.heartbeats.push(details));
    return environment;
  }

  /** Runs an activity in a context, by default one of its own. */
  run<I, R>(
    activity: (input: I) => Promise<R>,
    input: I,
    environment: MockActivityEnvironment = this.activity(),
  ): Promise<R> {
    return environment.run<[I], R, (input: I) => Promise<R>>(activity, input);
  }

  /** Removes everything. */
  async dispose(): Promise<void> {
    await this.client.close();
    // A trainer that has written its manifest may still be on its way out.
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  }
}
