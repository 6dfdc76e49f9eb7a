// Tier: unit (an API server of a few lines on loopback, which cuts its watches at will).
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type KubernetesListObject, KubeConfig, type V1Pod } from '@kubernetes/client-node';
import { SupervisedInformer } from '../../k8s/supervised-informer';

const pod = (name: string, version: number): V1Pod => ({
  metadata: { name, namespace: 'n', uid: name, resourceVersion: String(version) },
});
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
const until = async (condition: () => boolean) => {
  while (!condition()) await pause(20);
};

describe('a supervised informer', () => {
  const watches: ServerResponse[] = [];
  let listed: V1Pod[] = [];
  let opened = 0;
  const server = createServer((request, response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    if (!request.url?.includes('watch=true')) return void response.end('{}');
    opened += 1;
    watches.push(response);
    response.flushHeaders();
  });
  const list = async (): Promise<KubernetesListObject<V1Pod>> => ({
    items: listed,
    metadata: { resourceVersion: '10' },
  });
  let informer: SupervisedInformer<V1Pod>;

  beforeAll(() => new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve)));
  afterAll(() => new Promise((resolve) => server.close(resolve)));
  beforeEach(() => {
    [listed, opened] = [[pod('a', 1)], 0];
    watches.length = 0;
    const config = new KubeConfig();
    const cluster = {
      name: 'c',
      server: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      skipTLSVerify: true,
    };
    config.loadFromClusterAndUser(cluster, { name: 'u' });
    informer = new SupervisedInformer<V1Pod>(config, '/api/v1/pods', undefined, list);
    informer.start();
  });
  afterEach(() => {
    informer.close();
    for (const watch of watches) watch.destroy();
  });

  const names = () => informer.items().map(({ metadata }) => metadata?.name);

  test('holds the objects of the list and of the watch', async () => {
    await until(() => opened === 1);
    watches[0]!.write(`${JSON.stringify({ type: 'ADDED', object: pod('b', 11) })}\n`);
    await until(() => informer.items().length === 2);
    watches[0]!.write(`${JSON.stringify({ type: 'DELETED', object: pod('a', 12) })}\n`);
    await until(() => informer.items().length === 1);
    expect(names()).toEqual(['b']);
  });

  test('opens a watch anew after each that ends, whether it ends well or not', async () => {
    await until(() => opened === 1);
    watches[0]!.end();
    await until(() => opened === 2);
    watches[1]!.destroy();
    await until(() => opened === 3);
    watches[2]!.write(`${JSON.stringify({ type: 'ADDED', object: pod('c', 13) })}\n`);
    await until(() => informer.items().length === 2);
    expect(names()).toEqual(['a', 'c']);
  });

  test('opens no watch when it is closed while it waits to reconnect', async () => {
    await until(() => opened === 1);
    // The first reconnection is immediate, later ones wait.
    watches[0]!.end();
    await until(() => opened === 2);
    watches[1]!.end();
    await pause(100);
    informer.close();
    const before = opened;
    await pause(2_500);
    expect(opened).toBe(before);
  });

  test('takes versions that are no numbers as they come', async () => {
    await until(() => opened === 1);
    listed = [
      { metadata: { ...pod('a', 1).metadata, resourceVersion: 'eyJtIjoiMiJ9', labels: { moved: 'yes' } } },
      pod('b', 11),
    ];
    await informer.refresh();
    expect(informer.items().map(({ metadata }) => metadata?.labels?.['moved'])).toEqual(['yes', undefined]);
    watches[0]!.write(
      `${JSON.stringify({ type: 'ADDED', object: { metadata: { name: 'c', uid: 'c', resourceVersion: 'x' } } })}\n`,
    );
    await until(() => informer.items().length === 3);
    await informer.refresh();
    expect(names()).toEqual(['a', 'b']);
  });

  test('takes over the list where it contradicts the watch', async () => {
    await until(() => opened === 1);
    listed = [pod('z', 5)];
    await informer.refresh();
    expect(names()).toEqual(['z']);
    expect(informer.contactMs).toBeGreaterThan(0);
  });
});
