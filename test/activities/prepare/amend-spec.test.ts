// Tier: integration (the store on disk, a fake analyst server).
import { writeFileSync } from 'node:fs';
import { MODULE_FACTS } from '../../../contracts/config/environment-kinds/facts';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { amendSpec } from '../../../activities/prepare/amend-spec';
import { type PreparedSpec, preparedSpecSchema } from '../../../contracts/artifacts/prepared-spec';
import type { RunContext } from '../../../contracts/messages/run-context';
import { loadAgentSpec } from '../../../loaders/agent-spec';
import { getJson, layout, putJson } from '../../../store';
import { RunFixture } from '../run-fixture';
import { openPolicy } from '../../helpers/open-policy';
import type { WorkerPolicy } from '../../../contracts/config/operator-policy';

let fixture: RunFixture;
let analyst: Server;
let file: string;
let context: RunContext;

const yaml = (more = ''): string => `version: 1
name: parcels
environment: { path: desk.py, trainSeeds: { start: 0, count: 20 }, heldOutSeeds: { start: 1000, count: 10 } }
model: { name: base, path: model }
${more}`;

const KUBERNETES = `training:
  kubernetes: { image: a, store: { claim: s }, resources: { memory: MEMORY }, nodeSelector: { example.org/gpu: h100 } }
`;

beforeEach(async () => {
  fixture = new RunFixture();
  analyst = createServer({ keepAliveTimeout: 1 }, (_, response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ data: [{ id: 'large' }] }));
  });
  await new Promise<void>((resolve) => analyst.listen(0, '127.0.0.1', resolve));
  file = join(fixture.folder, 'agent.yaml');
  writeFileSync(join(fixture.folder, 'desk.py'), '');
  writeFileSync(file, yaml(KUBERNETES.replace('MEMORY', '8Gi')));
  const prepared: PreparedSpec = {
    spec: { ...loadAgentSpec(file), seed: 7 },
    environmentPath: '/agent/desk.py',
    environmentSha256: 'e',
    facts: MODULE_FACTS,
    modelBaseUrl: 'http://model/v1',
    modelPath: '/models/base',
    baseModelSha256: 'b',
    servedModel: { weightsSha256: null, root: null, maxModelLength: null },
    analyst: { baseUrl: 'http://analyst/v1', model: 'small', displayName: 'small' },
    sandbox: { mode: 'jail', detail: '' },
  };
  const spec = await putJson(fixture.store, layout.run('run-1'), 'spec.json', prepared);
  context = { runId: 'run-1', agent: 'parcels', spec, seed: 7 };
});
afterEach(async () => {
  analyst.close();
  analyst.closeAllConnections();
  await fixture.dispose();
});

const amend = (policy: WorkerPolicy = openPolicy) => {
  const known = {
    modelUrl: 'http://model/v1',
    modelPath: null,
    modelApiKey: null,
    keyEndpoints: [`http://127.0.0.1:${(analyst.address() as AddressInfo).port}`],
    analyst: { demoUrl: null, model: 'small', apiKey: 'k', baseUrl: 'http://analyst/v1' },
  };
  const deps = { store: fixture.store, endpoints: known, webhook: { endpoints: [] }, operatorPolicy: policy };
  return fixture.run(amendSpec.bind(null, deps), { context, specPath: file });
};

test('takes over what may change, and keeps the rest as it was frozen', async () => {
  const url = `http://127.0.0.1:${(analyst.address() as AddressInfo).port}/v1`;
  const changes = `analyst: { baseUrl: "${url}", model: large }\nbudget: { tokens: 5000 }\n`;
  writeFileSync(file, yaml(changes + KUBERNETES.replace('MEMORY', '64Gi')));
  const { spec, changed } = await amend();
  expect(changed.sort()).toEqual([
    'analyst.baseUrl',
    'analyst.model',
    'budget.tokens',
    'training.kubernetes.resources.memory',
  ]);
  const after = await getJson(fixture.store, spec, preparedSpecSchema);
  expect(after.analyst).toMatchObject({ baseUrl: url, model: 'large' });
  expect(after.spec.training.kubernetes).toMatchObject({
    resources: { memory: '64Gi' },
    nodeSelector: { 'example.org/gpu': 'h100' },
  });
  // The seed of the run's start, not the file's.
  expect(after).toMatchObject({ spec: { seed: 7 }, environmentSha256: 'e', baseModelSha256: 'b' });
  // The first spec is still there.
  expect((await getJson(fixture.store, context.spec, preparedSpecSchema)).analyst.model).toBe('small');
});

test('takes over how long an answer may take, also where nothing was said before', async () => {
  writeFileSync(file, yaml(KUBERNETES.replace('MEMORY', '8Gi')).replace('model: {', 'model: { timeoutSeconds: 900,'));
  const { spec, changed } = await amend();
  expect(changed).toEqual(['model.timeoutSeconds']);
  expect((await getJson(fixture.store, spec, preparedSpecSchema)).spec.model.timeoutSeconds).toBe(900);
});

test('a file without changes changes nothing', async () => {
  expect(await amend()).toMatchObject({ spec: context.spec, changed: [] });
});

test.each([
  ['environment.trainSeeds.count', yaml().replace('count: 20', 'count: 30'), '20', '30'],
  ['identify.minGap', yaml('identify: { minGap: 0.5 }\n'), '0.2', '0.5'],
  ['training.learningRate', yaml('training: { learningRate: 0.5 }'), '0.00001', '0.5'],
])('refuses a change of %s with both values and the fields that may change', async (path, text, before, after) => {
  writeFileSync(file, text.includes('training') ? text : text + KUBERNETES.replace('MEMORY', '8Gi'));
  const error = await amend().catch((e: unknown) => e);
  expect(error).toMatchObject({ type: 'Spec.Invalid', nonRetryable: true });
  expect((error as Error).message).toContain(
    `${file}: ${path}: the run was started with ${before}, the file has ${after}.`,
  );
  expect((error as Error).message).toContain('training.kubernetes');
});

test('tasks that a command printed stay those of the run', async () => {
  const printed = (command: string) =>
    yaml('budget: { tokens: 5000 }\n').replace(
      /environment: .*/,
      `environment: { kind: program, command: [bash], tasks: { command: [${command}] } }`,
    );
  writeFileSync(file, printed('tasks.sh').replace(/budget.*/, ''));
  const written = loadAgentSpec(file);
  const ranges = { trainSeeds: { start: 0, count: 4 }, heldOutSeeds: { start: 4, count: 2 } };
  const prepared = await getJson(fixture.store, context.spec, preparedSpecSchema);
  const frozen = { ...prepared, spec: { ...written, environment: { ...written.environment, ...ranges } } };
  context = { ...context, spec: await putJson(fixture.store, layout.run('run-1'), 'printed.json', frozen) };
  writeFileSync(file, printed('tasks.sh'));
  const { spec, changed } = await amend();
  expect(changed).toEqual(['budget.tokens']);
  expect((await getJson(fixture.store, spec, preparedSpecSchema)).spec.environment).toMatchObject(ranges);
  writeFileSync(file, printed('other.sh'));
  await expect(amend()).rejects.toThrow(/environment\.tasks\.command: the run was started with \["tasks.sh"\]/);
});

test('refuses what the policy of the worker does not allow', async () => {
  const onCluster = yaml(KUBERNETES.replace('training:', 'training:\n  backend: kubernetes').replace('MEMORY', '8Gi'));
  writeFileSync(file, onCluster);
  const prepared = await getJson(fixture.store, context.spec, preparedSpecSchema);
  const { training } = loadAgentSpec(file);
  const frozen = { ...prepared, spec: { ...prepared.spec, training } };
  context = { ...context, spec: await putJson(fixture.store, layout.run('run-1'), 'on-cluster.json', frozen) };
  writeFileSync(file, onCluster.replace('image: a', 'image: b'));
  await expect(amend(null)).rejects.toMatchObject({
    type: 'Spec.NotAllowed',
    message: expect.stringContaining('training.kubernetes.image: "b" is not allowed') as string,
  });
});

test('refuses a file that is no agent.yaml', async () => {
  writeFileSync(file, yaml('modle: 1'));
  await expect(amend()).rejects.toMatchObject({
    type: 'Spec.Invalid',
    message: expect.stringContaining('modle') as string,
  });
});
