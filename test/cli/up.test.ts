// tier: integration
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readAgent } from '../../cli/agent';
import { readSettings } from '../../cli/settings';
import { demoAnalyst } from '../../cli/supervisor/plan';
import { findProcess } from '../../cli/supervisor/processes';
import { servicesAnalyst, type ServicesAnalyst } from '../../cli/supervisor/services-analyst';
import { writeSupervisorState } from '../../cli/supervisor/supervisor-state';
import { up } from '../../cli/up';
import { projectRoot } from '../../contracts/project-root';

const folder = mkdtempSync(join(tmpdir(), 'whet-up-'));
const path = join(folder, 'agent.yaml');
const DEMO = join(projectRoot(), 'examples', 'orders-desk', 'agent.yaml');
const VARIABLES = ['OPENAI_API_KEY', 'OPENAI_BASE_URL', 'WHET_ANALYST_MODEL'];
const before = { ...process.env };
beforeEach(() => {
  for (const name of VARIABLES) delete process.env[name];
});
afterAll(() => {
  process.env = before;
  rmSync(folder, { recursive: true });
});

/** `whet up` where services are up that ask this analyst. */
function upBeside(analyst: ServicesAnalyst | undefined, analystOf?: string, more = '') {
  writeFileSync(path, `version: 1\nname: desk\nenvironment: { kind: traces }\n${more}`);
  const settings = readSettings({ ...process.env, WHET_HOME: folder });
  writeSupervisorState(folder, {
    ...{ instance: 'up', supervisor: findProcess(process.pid)!, startedAt: '', agentPath: path, modelSeed: null },
    ...{ temporal: { address: '127.0.0.1:1', namespace: 'default', uiUrl: null }, services: [], disk: null },
    ...(analyst && { analyst }),
  });
  const out = { live: false, line: () => undefined, result: () => undefined, redraw: () => undefined };
  const { signal } = new AbortController();
  return up(settings, out, { agent: readAgent(path), analystOf, anyPort: true, signal });
}

const REAL = { OPENAI_API_KEY: 'key', WHET_ANALYST_MODEL: 'm' };
const real = (change: NodeJS.ProcessEnv = {}) => servicesAnalyst(null, { ...REAL, ...change });
const demo = servicesAnalyst({ ...demoAnalyst(DEMO, projectRoot())!, isOnly: true }, {});

test('services that ask a real analyst are not used for recorded answers, nor the other way round', async () => {
  const refused = expect.objectContaining({ type: 'Up.OtherAgent' }) as Error;
  const forDemo = upBeside(real(), DEMO);
  await expect(forDemo).rejects.toEqual(refused);
  await expect(forDemo).rejects.toThrow(
    /ask m at https:\/\/api\.openai\.com\/v1, not the recorded answers of .*orders/,
  );
  Object.assign(process.env, REAL);
  await expect(upBeside(demo)).rejects.toThrow(/ask the recorded answers of .*, not m at https:\/\/api\.openai\.com/);
  const named = 'analyst: { baseUrl: http://127.0.0.1:9/v1, model: own }\n';
  await expect(upBeside(demo, undefined, named)).rejects.toThrow('not own at http://127.0.0.1:9/v1');
  await expect(upBeside(real({ WHET_ANALYST_MODEL: 'n' }))).rejects.toThrow(/ask n at .*, not m at/);
  await expect(upBeside(undefined)).rejects.toThrow('ask an analyst that they do not name, not m');
});

test('services that ask the same analyst are used', async () => {
  await expect(upBeside(demo, DEMO)).resolves.toMatchObject({ started: false });
  Object.assign(process.env, REAL);
  await expect(upBeside(real())).resolves.toMatchObject({ started: false });
  // The variables do not matter where agent.yaml names the analyst.
  const named = 'analyst: { baseUrl: http://127.0.0.1:9/v1, model: own }\n';
  await expect(upBeside(real({ WHET_ANALYST_MODEL: 'n' }), undefined, named)).resolves.toMatchObject({
    started: false,
  });
});
