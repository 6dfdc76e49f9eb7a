// Tier: integration (real environment runtime, fake model and analyst servers).
import fs, {
  chmodSync,
  copyFileSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { readEnvironmentUse } from '../../../activities/budget/environment-meter';
import { readOwnerEnvironment } from '../../../activities/environment';
import { preparedSpecSchema } from '../../../contracts/artifacts/prepared-spec';
import { getJson, layout } from '../../../store';
import type { FakePolicyServer } from '../../fakes/policy-server';
import { openPolicy } from '../../helpers/open-policy';
import type { RunFixture } from '../run-fixture';
import { analystServer, jail, PrepareFixture, type PrepareOptions, yaml } from './prepare-fixture';

describe('prepareRun', () => {
  let given: PrepareFixture;
  let fixture: RunFixture;
  let model: FakePolicyServer;
  let folder: string;

  beforeEach(async () => {
    given = await PrepareFixture.start();
    ({ fixture, model, folder } = given);
  });
  afterEach(() => given.stop());

  const prepare = (options: PrepareOptions = {}) => given.prepare(options);

  test('the tasks that are tried are paid for by the run, which waits when they pass its budget', async () => {
    for (const one of [fixture.folder, folder]) chmodSync(one, 0o755);
    copyFileSync(join(__dirname, '../../fakes/process_server.py'), join(folder, 'server.py'));
    const process = 'kind: process, command: [python3, server.py]';
    const tokens = 'budget: { environment: { tokens: 20 } }';
    writeFileSync(join(folder, 'agent.yaml'), yaml(tokens).replace('path: parcel_desk.py', process));
    const prepared = () => prepare({ ownFolders: true });
    const used = async () => (await readEnvironmentUse(fixture.store, 'run-1'))['collect'];
    const spent = { type: 'Budget.Spent', nonRetryable: true };
    await expect(prepared()).rejects.toMatchObject(spent);
    expect(await used()).toEqual({ episodes: 1, unknown: 0, promptTokens: 10, completionTokens: 2 });
    // What it spends is paid again in another attempt.
    await fixture.store.swapDocument(layout.budget('run-1'), { environment: { tokens: 60 } }, null);
    await prepared();
    expect(await used()).toEqual({ episodes: 3, unknown: 0, promptTokens: 30, completionTokens: 6 });
    await prepared();
    expect(await used()).toMatchObject({ episodes: 5 });
    await expect(prepared()).rejects.toMatchObject(spent);
  });

  test('a run that ends after identification needs no base model, and no place to train', async () => {
    const training = 'training: { backend: kubernetes, kubernetes: { image: evil, store: { claim: store } } }';
    writeFileSync(join(folder, 'agent.yaml'), yaml(training).replace('path: model', `baseUrl: '${model.baseUrl}'`));
    await expect(prepare()).rejects.toThrow(/"evil" is not allowed/);
    await expect(prepare({ policy: openPolicy })).rejects.toThrow(/model\.path is not set/);
    const { context } = await prepare({ input: { until: 'identify' } });
    const prepared = await getJson(fixture.store, context.spec, preparedSpecSchema);
    expect(prepared.modelPath).toBeNull();
    // The server names no weights here, so that what it says stands for them.
    expect(prepared.baseModelSha256).toMatch(/^[0-9a-f]{64}$/);
    model.weightsSha256 = '3'.repeat(64);
    const named = (await prepare({ input: { until: 'identify' } })).context.spec;
    expect(await getJson(fixture.store, named, preparedSpecSchema)).toMatchObject({
      ...{ modelPath: null, baseModelSha256: '3'.repeat(64) },
    });
    const scheduled = prepare({ input: { until: 'identify', scheduled: true } });
    await expect(scheduled).rejects.toThrow(/a scheduled run has all stages/);
  });

  test('conversations need no model, no jail and no task, and a run on them ends after identification', async () => {
    writeFileSync(join(folder, 'agent.yaml'), 'version: 1\nname: parcels\nenvironment: { kind: traces }\n');
    const closed = { ...jail, ok: false, missing: ['user'] };
    const nothing = { modelUrl: null, probe: closed };
    const plan = await prepare({ ...nothing, input: { until: 'identify' } });
    expect(plan.plays).toBe(false);
    const prepared = await getJson(fixture.store, plan.context.spec, preparedSpecSchema);
    expect(prepared).toMatchObject({
      facts: { playable: false },
      ...{ modelBaseUrl: '', modelPath: null, sandbox: { mode: 'unused' } },
    });
    await expect(prepare(nothing)).rejects.toMatchObject({
      type: 'Spec.Invalid',
      message: expect.stringMatching(/agent\.yaml: environment: .*add --until identify/),
    });
    // A night on them is a diagnosis.
    await prepare({ ...nothing, input: { until: 'identify', scheduled: true } });
  });

  test('a command of the owner says what it is, and its tasks, files and packages are part of its identity', async () => {
    for (const one of [fixture.folder, folder]) chmodSync(one, 0o755);
    copyFileSync(join(__dirname, '../../fakes/process_server.py'), join(folder, 'server.py'));
    const tasks = ['refund', 'exchange', 'lost'].map((id, i) =>
      JSON.stringify({ id, split: i === 1 ? 'test' : 'train' }),
    );
    writeFileSync(join(folder, 'tasks.jsonl'), tasks.join('\n'));
    const write = (more = '') =>
      writeFileSync(
        join(folder, 'agent.yaml'),
        yaml().replace(
          /environment: .*/,
          `environment: { kind: process, command: [python3, server.py], tasks: tasks.jsonl, variables: { PACKAGES: desk==1${more} } }`,
        ),
      );
    write();
    await expect(prepare()).rejects.toMatchObject({
      type: 'Spec.NotAllowed',
      message: expect.stringMatching(
        /^environment\.command: ".*python3 .*" is not allowed\. An operator allows it/,
      ) as string,
    });
    const prepared = async (runId: string) => {
      const { context } = await prepare({ ownFolders: true, input: { runId } });
      return getJson(fixture.store, context.spec, preparedSpecSchema);
    };
    const first = await prepared('run-1');
    expect(first).toMatchObject({
      environmentPath: join(folder, 'agent.yaml'),
      tasks: ['refund', 'lost', 'exchange'],
      facts: { deterministic: false, hasReferences: false, costsTokens: true, trainable: false, packages: 'desk==1' },
      spec: { environment: { trainSeeds: { start: 0, count: 2 }, heldOutSeeds: { start: 2, count: 1 } } },
    });
    const open = async () => readOwnerEnvironment(first);
    expect(await open()).toMatchObject({ plays: 'process', packages: 'desk==1', tasks: first.tasks });
    expect((await prepared('run-2')).environmentSha256).toBe(first.environmentSha256);
    write('.1');
    expect((await prepared('run-3')).environmentSha256).not.toBe(first.environmentSha256);
    write();
    writeFileSync(join(folder, 'server.py'), '# changed\n', { flag: 'a' });
    await expect(open()).rejects.toThrow(
      /^Changed since this run began: the files of the command in \S+agent\.yaml \(server\.py\), or its tasks\.$/,
    );
    expect((await prepared('run-4')).environmentSha256).not.toBe(first.environmentSha256);
    rmSync(join(folder, 'tasks.jsonl'));
    await expect(open()).rejects.toMatchObject({ type: 'Environment.Failed', nonRetryable: true });
  });

  test('a command that names a file of any size is not tried again', async () => {
    writeFileSync(join(folder, 'data'), '');
    truncateSync(join(folder, 'data'), 2 ** 40);
    const environment =
      'environment: { kind: program, command: [bash, data], trainSeeds: { start: 0, count: 1 }, ' +
      'heldOutSeeds: { start: 1, count: 1 } }';
    writeFileSync(join(folder, 'agent.yaml'), yaml().replace(/environment: .*/, environment));
    await expect(prepare({ ownFolders: true })).rejects.toMatchObject({
      type: 'Environment.Failed',
      nonRetryable: true,
      message: expect.stringContaining(`${folder}/data, which the command names, cannot count`) as string,
    });
  });

  test('freezes the spec with what was found', async () => {
    const plan = await prepare({ input: { seed: 42, arm: 'random', ablations: true } });
    expect(plan).toMatchObject({
      context: { runId: 'run-1', agent: 'parcels', seed: 42 },
      maxAttempts: 3,
      mixedAdapter: true,
      approval: false,
      onRejected: 'skip',
    });
    const prepared = await getJson(fixture.store, plan.context.spec, preparedSpecSchema);
    expect(prepared).toMatchObject({
      environmentPath: join(folder, 'parcel_desk.py'),
      modelBaseUrl: model.baseUrl,
      modelPath: join(folder, 'model'),
      analyst: { baseUrl: given.analyst.url, model: 'rules', displayName: 'demo analyst (rule-based)' },
      sandbox: { mode: 'jail', detail: '1 layers hold; control groups: v2.' },
    });
    expect(prepared.spec).toMatchObject({
      seed: 42,
      training: { iterations: 40 },
      identify: { arm: 'random', ablations: true },
    });
  });

  test('refuses a place in the cluster that the policy of the worker does not allow', async () => {
    const training = 'training:\n  backend: kubernetes\n  kubernetes: { image: evil, store: { claim: store } }\n';
    writeFileSync(join(folder, 'agent.yaml'), yaml() + training);
    await expect(prepare()).rejects.toMatchObject({
      type: 'Spec.NotAllowed',
      message: expect.stringContaining('training.kubernetes.image: "evil" is not allowed') as string,
    });
  });

  test('freezes what the model server says of its model', async () => {
    model.root = '/models/base';
    const { servedModel } = await getJson(fixture.store, (await prepare()).context.spec, preparedSpecSchema);
    expect(servedModel).toEqual({ weightsSha256: null, root: '/models/base', maxModelLength: 2048 });
  });

  test('a server that serves other weights than model.path holds is refused', async () => {
    model.weightsSha256 = '3'.repeat(64);
    const failure = prepare();
    await expect(failure).rejects.toMatchObject({ type: 'Model.Changed', nonRetryable: true });
    await expect(failure).rejects.toThrow(join(folder, 'model'));
  });

  test('the base model is hashed with heartbeats, and an unchanged file is read once', async () => {
    await prepare();
    const hashing = fixture.heartbeats.filter(({ note }) => note?.startsWith('hashing the base model'));
    expect(hashing.at(-1)).toMatchObject({ unit: 'MB' });
    const file = join(folder, 'model', 'model.safetensors');
    const open = jest.spyOn(fs, 'createReadStream');
    const before = await prepare({ input: { runId: 'run-2' } });
    expect(open.mock.calls.filter(([path]) => path === file)).toHaveLength(0);
    // Same size, and the old time of change set again, as `cp -p` does.
    const { mtime, atime } = statSync(file);
    writeFileSync(file, 'weighTs');
    utimesSync(file, atime, mtime);
    const after = await prepare({ input: { runId: 'run-3' } });
    open.mockRestore();
    const hashOf = async ({ context }: typeof after) =>
      (await getJson(fixture.store, context.spec, preparedSpecSchema)).baseModelSha256;
    expect(await hashOf(after)).not.toBe(await hashOf(before));
  });

  test('a machine that gave the jail up does not send generated code to a cluster', async () => {
    process.env['WHET_SANDBOX'] = 'unsafe';
    try {
      const store = '{ image: trainer, store: { claim: store } }';
      writeFileSync(join(folder, 'agent.yaml'), yaml(`training: { backend: kubernetes, kubernetes: ${store} }\n`));
      const failure = prepare({ policy: openPolicy });
      await expect(failure).rejects.toMatchObject({ type: 'Sandbox.Unavailable' });
      await expect(failure).rejects.toThrow(/WHET_SANDBOX=unsafe is refused on Kubernetes/);
      writeFileSync(join(folder, 'agent.yaml'), yaml());
      await prepare();
    } finally {
      delete process.env['WHET_SANDBOX'];
    }
  });

  test('a wrong field is Spec.Invalid with path, value and what is allowed', async () => {
    writeFileSync(join(folder, 'agent.yaml'), yaml('training: { rank: 12 }\n'));
    const failure = prepare();
    await expect(failure).rejects.toMatchObject({ type: 'Spec.Invalid', nonRetryable: true });
    await expect(failure).rejects.toThrow(/agent\.yaml: training\.rank: 12 .*1, 8, 16/);
  });

  test('a run for another agent is not started with this file', async () => {
    await expect(prepare({ input: { agent: 'letters' } })).rejects.toMatchObject({ type: 'Spec.Invalid' });
  });

  test('no endpoint: names what to set', async () => {
    await expect(prepare({ modelUrl: null })).rejects.toThrow(/model\.baseUrl.*WHET_MODEL_URL.*whet up/);
  });

  test('a base model that is not there', async () => {
    writeFileSync(join(folder, 'agent.yaml'), yaml().replace('path: model', 'path: nowhere'));
    await expect(prepare()).rejects.toThrow(/nowhere \(model\.path\) is not a model directory/);
  });

  test('a model server that does not answer is retried by Temporal', async () => {
    await model.stop();
    await expect(prepare()).rejects.toMatchObject({ type: 'Model.Unreachable', nonRetryable: false });
  });

  test('a model name that is not served: says which are', async () => {
    writeFileSync(join(folder, 'agent.yaml'), yaml().replace('name: base', 'name: other'));
    await expect(prepare()).rejects.toMatchObject({
      type: 'Model.Refused',
      message: expect.stringMatching(/does not serve other .* it serves base/) as string,
    });
  });

  test('a jail without a layer ends the run before it begins', async () => {
    const broken = { ...jail, ok: false, missing: ['Layer seccomp: not there.'] };
    await expect(prepare({ probe: broken })).rejects.toMatchObject({
      type: 'Sandbox.Unavailable',
      message: expect.stringContaining('Layer seccomp') as string,
    });
  });

  test('an environment that cannot be loaded', async () => {
    writeFileSync(join(folder, 'parcel_desk.py'), 'raise SystemError("no")\nclass Environment: pass\n');
    await expect(prepare()).rejects.toMatchObject({
      type: 'Environment.Failed',
      message: expect.stringContaining('SystemError: no') as string,
    });
  });

  const change = (from: string, to: string): void => {
    const file = join(folder, 'parcel_desk.py');
    const source = readFileSync(file, 'utf8');
    expect(source).toContain(from);
    writeFileSync(file, source.replace(from, to));
  };

  test('an environment that raises in a task: names the task', async () => {
    change(
      'def evaluate(trajectory, task):',
      "def evaluate(trajectory, task):\n        raise KeyError('no such parcel')",
    );
    const failure = prepare();
    await expect(failure).rejects.toMatchObject({ type: 'Environment.Failed', nonRetryable: true });
    await expect(failure).rejects.toThrow(
      /^While task 0 of environment\.trainSeeds was played: [\s\S]*KeyError: 'no such parcel'/,
    );
  });

  test('an environment that ends its process in a task is tried again for some minutes, then waits', async () => {
    change('def evaluate(trajectory, task):', 'def evaluate(trajectory, task):\n        __import__("os")._exit(3)');
    await expect(prepare()).rejects.toMatchObject({ type: 'Environment.Failed', nonRetryable: false });
    const late = prepare({ attempt: 10 });
    await expect(late).rejects.toMatchObject({ type: 'Environment.Failed', nonRetryable: true });
    await expect(late).rejects.toThrow(/^While task 0 of environment\.trainSeeds was played: /);
  });

  test('reference solutions that do not succeed, as `whet validate` refuses them', async () => {
    change('def reference_solution(task):', 'def reference_solution(task):\n        return []');
    const failure = prepare();
    await expect(failure).rejects.toMatchObject({ type: 'Environment.Failed', nonRetryable: true });
    await expect(failure).rejects.toThrow(
      /environment\.path: reference solutions of .*parcel_desk\.py earn less than environment\.successReward \(1\) in 16/,
    );
  });

  test("a real analyst gets its key and keeps its model's name", async () => {
    const hosted = await analystServer(200, { data: [{ id: 'large' }, { id: 'small' }] });
    const plan = await prepare({ apiKey: 'secret', analystUrl: hosted.url, analystModel: 'small' });
    hosted.server.close();
    const prepared = await getJson(fixture.store, plan.context.spec, preparedSpecSchema);
    expect(prepared.analyst).toEqual({
      baseUrl: hosted.url,
      model: 'small',
      displayName: `small at ${new URL(hosted.url).host}`,
    });
    expect(hosted.keys).toEqual(['Bearer secret']);
    expect(JSON.stringify(prepared)).not.toContain('secret');
  });

  test('a refused key is Analyst.Unauthorised', async () => {
    const hosted = await analystServer(401, {});
    await expect(prepare({ apiKey: 'wrong', analystUrl: hosted.url, analystModel: 'm' })).rejects.toMatchObject({
      type: 'Analyst.Unauthorised',
      nonRetryable: true,
    });
    hosted.server.close();
  });

  test('an endpoint without a list of models is taken at its word; one without a model name is not', async () => {
    const hosted = await analystServer(404, {});
    const plan = await prepare({ analystUrl: hosted.url, analystModel: 'm' });
    expect((await getJson(fixture.store, plan.context.spec, preparedSpecSchema)).analyst.model).toBe('m');
    await expect(prepare({ analystUrl: hosted.url })).rejects.toMatchObject({
      type: 'Spec.Invalid',
      message: expect.stringContaining('WHET_ANALYST_MODEL') as string,
    });
    hosted.server.close();
  });
});
