// Tier: integration (real Temporal server; no services).
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { type OpenRun, refuseToStrandRuns, strandedBy } from '../../cli/open-runs';
import { readSettings, type Settings } from '../../cli/settings';
import { requireTemporalCli } from '../../cli/supervisor/executables';
import type { Plan } from '../../cli/supervisor/plan';
import { freePort } from '../../cli/supervisor/ports';
import { askTemporal } from '../../cli/probe-temporal';
import type { PreparedSpec } from '../../contracts/artifacts/prepared-spec';
import { agentSpecSchema } from '../../contracts/config/agent-spec';
import { MODULE_FACTS } from '../../contracts/config/environment-kinds/facts';
import { TASK_QUEUES, WORKFLOWS } from '../../contracts/names';
import { layout, LocalStore, putJson } from '../../store';
import { endOwnTemporal, startOwnTemporal } from '../helpers/own-temporal';

const AGENT = '/agents/desk/agent.yaml';
const spec = (model: object = {}, more: object = {}) =>
  agentSpecSchema.parse({
    version: 1,
    name: 'desk',
    environment: {
      path: 'e.py',
      trainSeeds: { start: 0, count: 2 },
      heldOutSeeds: { start: 9, count: 2 },
      maxTurns: 2,
    },
    model: { name: 'desk-model', recipe: 'recipe.py', ...model },
    ...more,
  });
const prepared = (changes: Partial<PreparedSpec> = {}): PreparedSpec => ({
  spec: spec(),
  environmentPath: '/agents/desk/e.py',
  environmentSha256: '0'.repeat(64),
  facts: MODULE_FACTS,
  modelBaseUrl: 'http://127.0.0.1:8300/v1',
  modelPath: '/models/one',
  baseModelSha256: '1'.repeat(64),
  servedModel: { weightsSha256: null, root: null, maxModelLength: null },
  analyst: { baseUrl: 'http://127.0.0.1:8301/v1', model: 'rules', displayName: 'demo analyst (rule-based)' },
  sandbox: { mode: 'jail', detail: '' },
  ...changes,
});
const openRun = (changes: Partial<OpenRun> = {}): OpenRun => ({
  runId: 'desk-1',
  specPath: AGENT,
  modelSeed: 1,
  prepared: prepared(),
  ...changes,
});
type Services = Pick<Plan, 'model' | 'analyst' | 'agentPath'>;
const recipe = (seed: number, script = '/agents/desk/recipe.py'): NonNullable<Plan['model']> => ({
  source: { kind: 'recipe', script, seed, arguments: [] },
  servedName: 'desk-model',
  port: 8300,
  vllm: null,
});
const services = (changes: Partial<Services> = {}): Services => ({
  model: recipe(1),
  analyst: { script: 'analyst.js', assets: null, port: 8301 },
  agentPath: AGENT,
  ...changes,
});

describe('whether an open run can go on with the services of a plan', () => {
  const judged = (plan: Services, run: OpenRun, analystConfigured = false) =>
    strandedBy(plan, { analystConfigured }, run);
  const directory = (path: string): NonNullable<Plan['model']> => ({
    source: { kind: 'directory', path },
    servedName: 'desk-model',
    port: 8300,
    vllm: null,
  });
  const inDirectory = openRun({
    modelSeed: null,
    prepared: prepared({ spec: spec({ recipe: undefined, path: 'm' }) }),
  });
  const diagnosis = openRun({ modelSeed: null, prepared: { ...inDirectory.prepared, modelPath: null } });
  const ownServer = prepared({ spec: spec({ recipe: undefined, baseUrl: 'http://gpu:8000/v1', path: 'm' }) });
  const realAnalyst = prepared({
    analyst: { baseUrl: 'https://api.openai.com/v1', model: 'm', displayName: 'm at api' },
  });

  test.each<[string, boolean, Services, OpenRun]>([
    ['the same model', false, services(), openRun()],
    ['other ports', false, services({ model: { ...recipe(1), port: 9999 } }), openRun()],
    ['a run that does not say its seed', false, services({ model: recipe(2) }), openRun({ modelSeed: null })],
    ['a run with a server of its own', false, services({ model: recipe(2) }), openRun({ prepared: ownServer })],
    ['no policy server at all', false, services({ model: null, analyst: null, agentPath: null }), openRun()],
    ['the same directory', false, services({ model: directory('/models/one') }), inDirectory],
    [
      'the same directory, which a diagnosis does not read',
      false,
      services({ model: directory('/agents/desk/m') }),
      diagnosis,
    ],
    ['the same real analyst', true, services({ analyst: null }), openRun({ prepared: realAnalyst })],
  ])('can: %s', (_, configured, plan, run) => expect(judged(plan, run, configured)).toBeNull());

  test.each<[string, boolean, Services, OpenRun, RegExp]>([
    ['a model of another seed', false, services({ model: recipe(2) }), openRun(), /seed 1, .* that of seed 2/],
    ['another recipe', false, services({ model: recipe(1, '/other/recipe.py') }), openRun(), /another recipe/],
    [
      'another name',
      false,
      services({ model: { ...recipe(1), servedName: 'x' } }),
      openRun(),
      /desk-model, .* serve x/,
    ],
    [
      'another directory than a diagnosis began with',
      false,
      services({ model: directory('/models/two') }),
      diagnosis,
      /\/agents\/desk\/m, .*\/models\/two/,
    ],
    [
      'another directory',
      false,
      services({ model: directory('/models/two') }),
      inDirectory,
      /\/models\/one, .*\/models\/two/,
    ],
    ['a real analyst', true, services({ analyst: null }), openRun(), /demo analyst/],
    ['no key for the analyst', false, services(), openRun({ prepared: realAnalyst }), /no key/],
  ])('cannot: %s', (_, configured, plan, run, words) => expect(judged(plan, run, configured)?.reason).toMatch(words));
});

describe('before the services are started', () => {
  const home = mkdtempSync(join(tmpdir(), 'whet-open-runs-'));
  const settings: Settings = readSettings({ WHET_HOME: home }, home);
  let plan: Plan;
  beforeAll(async () => {
    plan = {
      instance: 'open-runs-test',
      home,
      storeRoot: settings.storeRoot,
      logs: join(home, 'logs'),
      root: '/',
      python: 'python3',
      temporal: {
        address: '',
        namespace: 'default',
        start: {
          cli: requireTemporalCli(),
          port: await freePort(),
          uiPort: await freePort(),
          database: join(home, 'temporal.sqlite'),
        },
      },
      gateway: null,
      ...services(),
    };
    plan.temporal.address = `127.0.0.1:${plan.temporal.start!.port}`;
  });
  afterAll(() => rmSync(home, { recursive: true, force: true }));

  test('without a database there is nothing to ask', async () => {
    await expect(refuseToStrandRuns(settings, { ...plan, model: recipe(2) })).resolves.toBeUndefined();
  });

  test('open runs of this store are found, named and not touched', async () => {
    const store = new LocalStore(settings.storeRoot);
    await putJson(store, layout.run('desk-open'), 'spec.json', prepared());
    await putJson(store, layout.run('desk-ended'), 'spec.json', prepared());
    // Makes the database; the question itself starts no server where there is none.
    const { start } = plan.temporal;
    const server = await startOwnTemporal(start!.database, { port: start!.port, uiPort: start!.uiPort });
    const connection = await Connection.connect({ address: plan.temporal.address });
    const client = new Client({ connection });
    const began = { taskQueue: TASK_QUEUES.orchestration, args: [], memo: { specPath: AGENT, modelSeed: 1 } };
    for (const workflowId of ['desk-open', 'desk-ended', 'desk-of-another-store']) {
      for (let attempt = 0; ; attempt++) {
        try {
          await client.workflow.start(WORKFLOWS.improvementRun, { ...began, workflowId });
          break;
        } catch (error) {
          if (attempt > 100) throw error;
          await new Promise((resolve) => setTimeout(resolve, 100));
        }
      }
    }
    await client.workflow.getHandle('desk-ended').terminate();
    const running = async () => {
      let count = 0;
      for await (const _ of client.workflow.list({ query: `ExecutionStatus = 'Running'` })) count++;
      return count;
    };
    while ((await running()) !== 2) await new Promise((resolve) => setTimeout(resolve, 100));
    await connection.close();
    await endOwnTemporal(server);

    const refused = refuseToStrandRuns(settings, { ...plan, model: recipe(2) });
    await expect(refused).rejects.toMatchObject({ type: 'Up.OpenRuns', exitCode: 2 });
    await expect(refused).rejects.toThrow(/desk-open: .*seed 1/);
    await expect(refused).rejects.toThrow(`whet demo ${AGENT} --seed 1`);
    await expect(refused).rejects.not.toThrow(/desk-ended|another-store/);
    await expect(refuseToStrandRuns(settings, plan)).resolves.toBeUndefined();
    const status = await askTemporal(
      plan,
      async (asked) => (await asked.workflow.getHandle('desk-open').describe()).status.name,
    );
    expect(status).toBe('RUNNING');
  });
});
