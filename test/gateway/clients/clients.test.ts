// tier: integration
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { adapterName, GatewayFixture, versionOf } from '../gateway-fixture';
import { makeModel, PolicyServer } from './policy-server';
import { nodeShapes } from './shapes';

/** A Python with the openai package, which the project itself does not need: `uv venv .whetstone/bench/clients && uv pip install openai`. */
const CLIENTS_PYTHON = process.env['WHET_CLIENTS_PYTHON'] || join(__dirname, '..', '..', '..', '.whetstone', 'bench', 'clients', 'bin', 'python');
const hasPython = existsSync(CLIENTS_PYTHON);
if (!hasPython) console.log(`The openai package of Python is not tried: there is no ${CLIENTS_PYTHON}.`);

describe('the official clients get through the gateway what they get from the policy server', () => {
  const fixture = new GatewayFixture();
  const adapter = adapterName('weigh', 1);
  let policy: PolicyServer;

  beforeAll(async () => {
    const model = join(fixture.folder, 'model');
    makeModel(model, fixture.store.localPath('adapters/desk/weigh-1'));
    policy = await PolicyServer.start(model, 'tiny');
    const agent = { baseModel: 'tiny', replicas: [policy.url], router: { kind: 'fixed' as const } };
    await fixture.start({ replicas: 0, registry: { versions: [versionOf(1, 'weigh')] }, agent });
  }, 120_000);
  afterAll(async () => {
    await fixture.stop();
    await policy.stop();
  });

  const pythonShapes = async (url: string, model: string) => {
    const { stdout } = await promisify(execFile)(CLIENTS_PYTHON, [join(__dirname, 'shapes.py'), url, model]);
    return JSON.parse(stdout) as unknown;
  };
  const clients: [string, (url: string, model: string) => Promise<unknown>][] = [
    ['Node', nodeShapes],
    ...(hasPython ? [['Python', pythonShapes] as [string, typeof pythonShapes]] : []),
  ];

  it.each(clients)('%s: base model, pinned adapter, routed agent', async (_name, shapes) => {
    const gateway = `${fixture.url}/v1`;
    const base = await shapes(policy.url, 'tiny');
    const tuned = await shapes(policy.url, adapter);
    expect(base).toMatchObject({ refusal: [404, 'model_not_found'], structured: { content: expect.stringMatching(/^(yes|no)$/) } });
    expect(tuned).not.toEqual(base);
    expect(await shapes(gateway, 'desk@base')).toEqual(base);
    expect(await shapes(gateway, adapter)).toEqual(tuned);
    expect(await shapes(gateway, 'desk')).toEqual(tuned);
  });
});
