// Tier: cluster. The chart on a real API server: its rights suffice for a training and do not reach beyond the
// namespace.
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import {
  CoreV1Api,
  KubeConfig,
  type KubernetesObject,
  KubernetesObjectApi,
  PatchStrategy,
  type V1ConfigMap,
  type V1Deployment,
} from '@kubernetes/client-node';
import { parse, parseAllDocuments } from 'yaml';
import { operatorPolicySchema } from '../../contracts/config/operator-policy';
import { kubernetesSpecSchema } from '../../contracts/config/kubernetes-spec';
import { Cluster } from '../../k8s/cluster';
import { buildJob } from '../../k8s/job-manifest';
import { refusedByPolicy } from '../../k8s/refused-by-policy';
import { checkGatewayConfig } from '../../loaders/gateway-config';
import { request } from '../k8s/cluster-objects';
import { ClusterFixture, root } from './cluster-fixture';

describe("the jobs worker's rights", () => {
  const fixture = new ClusterFixture();
  const made: KubernetesObject[] = [];
  let worker: Cluster;
  let core: CoreV1Api;

  const rendered = (...values: string[]): KubernetesObject[] => {
    const words = [
      'template',
      'whetstone',
      join(root, 'k8s', 'chart'),
      '--namespace',
      fixture.namespace,
      '--kube-version',
      '1.34.2',
      ...values,
    ];
    const text = execFileSync(process.env['WHET_HELM'] ?? 'helm', words, { encoding: 'utf8' });
    return parseAllDocuments(text).map((document) => document.toJS() as KubernetesObject);
  };
  const isWorkload = ({ kind }: KubernetesObject): boolean => kind === 'Deployment';

  beforeAll(async () => {
    await fixture.start();
    const api = KubernetesObjectApi.makeApiClient(fixture.config);
    // Without the Deployments, whose image is not in this cluster.
    for (const object of rendered().filter((object) => !isWorkload(object))) {
      await api.create(object);
      made.push(object);
    }
    const body = { spec: { audiences: [], expirationSeconds: 600 } };
    const { status } = await fixture.core.createNamespacedServiceAccountToken({
      namespace: fixture.namespace,
      name: 'whetstone-jobs',
      body,
    });
    const config = new KubeConfig();
    const cluster = fixture.config.getCurrentCluster()!;
    config.loadFromOptions({
      clusters: [cluster],
      users: [{ name: 'worker', token: status!.token }],
      contexts: [{ name: 'worker', cluster: cluster.name, user: 'worker' }],
      currentContext: 'worker',
    });
    worker = new Cluster(config);
    core = config.makeApiClient(CoreV1Api);
  });
  afterAll(async () => {
    const api = KubernetesObjectApi.makeApiClient(fixture.config);
    for (const object of made.filter(({ kind }) => kind?.startsWith('Cluster'))) await api.delete(object);
    await fixture.dispose();
  });

  const job = (namespace = fixture.namespace) => buildJob(request({ namespace, nodeSelector: { nowhere: 'true' } }));

  test.each([
    ['as it is', []],
    ['with everything that is off by default', ['--values', join(__dirname, 'chart-values.yaml')]],
  ])('the API server accepts the whole chart %s and knows every field', async (_, values) => {
    const api = KubernetesObjectApi.makeApiClient(fixture.config);
    const objects = rendered(...values);
    expect(objects.filter(isWorkload).map(({ metadata }) => metadata?.name)).toEqual(
      expect.arrayContaining(['whetstone-jobs', 'whetstone-sandbox']),
    );
    for (const object of objects) {
      // A server-side apply refuses unknown fields.
      const answer = await api.patch(object, undefined, 'All', 'chart-test', true, PatchStrategy.ServerSideApply);
      expect(answer.kind).toBe(object.kind);
    }
  });

  const fileOf = (name: string, file: string, ...values: string[]): unknown => {
    const map = rendered(...values).find(({ kind, metadata }) => kind === 'ConfigMap' && metadata?.name === name);
    return parse((map as V1ConfigMap).data![file]!);
  };
  const withAll = ['--values', join(__dirname, 'chart-values.yaml')];

  test("the gateway accepts the chart's gateway.yaml", () => {
    const config = fileOf('whetstone-gateway', 'gateway.yaml', ...withAll);
    expect(checkGatewayConfig(config, 'gateway.yaml')).toMatchObject({ host: '0.0.0.0', port: 8400 });
  });

  test("the workers accept the chart's policy: its own namespace, store and profile, and nothing else", () => {
    const policy = operatorPolicySchema.parse(fileOf('whetstone-policy', 'policy.yaml'));
    const spec = kubernetesSpecSchema.parse({
      image: 'any',
      store: { claim: 'whetstone-store' },
      seccomp: 'localhost/whetstone-trainer.json',
    });
    const refused = refusedByPolicy({ file: 'policy.yaml', policy }, 'orders-desk', spec);
    expect(refused).toMatch(/^training.kubernetes.image: "any" is not allowed.*\nThe policy of this worker/);
    expect(operatorPolicySchema.parse(fileOf('whetstone-policy', 'policy.yaml', ...withAll)).agents).toMatchObject({
      'orders-desk': { images: ['registry.example/trainer@*'] },
    });
  });

  test('each worker gets the Secrets of its queue and no other', () => {
    const secretsOf = Object.fromEntries(
      rendered(...withAll)
        .filter((object) => isWorkload(object))
        .map((object) => {
          const { containers } = (object as V1Deployment).spec!.template.spec!;
          return [object.metadata!.name, (containers[0]!.envFrom ?? []).map(({ secretRef }) => secretRef!.name)];
        }),
    );
    expect(secretsOf).toEqual({
      'whetstone-orchestration': [],
      'whetstone-llm': ['analyst-key', 'proxy'],
      'whetstone-sandbox': ['model-key'],
      'whetstone-jobs': [],
      'whetstone-gateway': [],
    });
  });

  test('the worker can create, watch and delete a Job, and review tokens', async () => {
    const { metadata } = await worker.applyJob(job());
    const watch = worker.watch(fixture.namespace);
    try {
      await watch.refresh();
      expect(watch.snapshot(metadata!.uid!).job?.metadata?.name).toBe(metadata!.name);
    } finally {
      watch.close();
    }
    await worker.deleteJob(fixture.namespace, metadata!.name!, metadata!.uid!);
    expect((await worker.reviewToken('forged', 'whetstone-reports')).status?.authenticated).not.toBe(true);
  });

  test('the worker has no rights in other namespaces, over secrets, or to create pods', async () => {
    await expect(worker.applyJob(job('default'))).rejects.toMatchObject({ name: 'ClusterRefused', code: 403 });
    await expect(worker.readJob('kube-system', 'x')).rejects.toMatchObject({ code: 403 });
    await expect(core.listNamespacedSecret({ namespace: fixture.namespace })).rejects.toMatchObject({ code: 403 });
    await expect(
      core.createNamespacedPod({
        namespace: fixture.namespace,
        body: { metadata: { name: 'x' }, spec: { containers: [] } },
      }),
    ).rejects.toMatchObject({
      code: 403,
    });
  });
});
