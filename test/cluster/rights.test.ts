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
} from '@kubernetes/client-node';
import { parse, parseAllDocuments } from 'yaml';
import { Cluster } from '../../k8s/cluster';
import { buildJob } from '../../k8s/job-manifest';
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

  test("the gateway accepts the chart's gateway.yaml", () => {
    const map = rendered('--values', join(__dirname, 'chart-values.yaml')).find(
      ({ kind }) => kind === 'ConfigMap',
    ) as V1ConfigMap;
    expect(checkGatewayConfig(parse(map.data!['gateway.yaml']!), 'gateway.yaml')).toMatchObject({
      host: '0.0.0.0',
      port: 8400,
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
