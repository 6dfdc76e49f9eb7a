// Tier: cluster. Pods to which the cluster adds containers, as a service mesh or a vault does.
import { BatchV1Api, type V1Job, type V1PodSpec } from '@kubernetes/client-node';
import { Cluster } from '../../k8s/cluster';
import { ClusterFixture } from './cluster-fixture';
import { ClusterRuns, pause } from './cluster-runs';

/** What the cluster adds to the pods of the next Job. */
let inject: (pod: V1PodSpec) => void;

/** The cluster of these tests has no webhook. A Job gets here what a webhook would add to its pods. */
class InjectingCluster extends Cluster {
  override applyJob(job: V1Job, options?: { validateOnly?: boolean }): Promise<V1Job> {
    const changed = structuredClone(job);
    inject(changed.spec!.template.spec!);
    return super.applyJob(changed, options);
  }
}

describe('a training whose pod has further containers', () => {
  const fixture = new ClusterFixture((config) => new InjectingCluster(config));
  const runs = new ClusterRuns(fixture);
  const batch = fixture.config.makeApiClient(BatchV1Api);
  const { image } = fixture.kubernetes();
  const resources = { requests: { cpu: '10m', memory: '16Mi' }, limits: { memory: '64Mi' } };
  /** Sorts before the trainer, and never ends by itself. */
  const addProxy = (pod: V1PodSpec) =>
    void pod.containers.unshift({ name: 'istio-proxy', image, command: ['sleep', '100000'], resources });
  const jobs = async () => (await batch.listNamespacedJob({ namespace: fixture.namespace })).items;

  beforeAll(async () => {
    await fixture.start();
    await runs.start();
  }, 120_000);
  afterAll(async () => {
    await runs.stop();
    await fixture.dispose();
  }, 120_000);

  test('it ends as without them, and no Job stays that holds its GPU', async () => {
    inject = addProxy;
    await runs.during(await fixture.input('with-proxy', {}, { runId: 'with-proxy' }), (run) => run.end());
    while ((await jobs()).length > 0) await pause(500);
  });

  test('its memory is told, although the proxy runs on', async () => {
    inject = addProxy;
    const kubernetes = fixture.kubernetes({ resources: { cpu: '100m', memory: '150Mi', gpus: 0 } });
    const input = await fixture.input('small', { kubernetes }, { runId: 'small' });
    await runs.during(input, async (run) => void (await run.until(/Trainer\.OutOfMemory/, 120)));
  });

  test('a container that runs before it and fails is named, with its words', async () => {
    inject = (pod) =>
      void (pod.initContainers = [
        { name: 'vault-agent-init', image, command: ['sh', '-c', 'echo no vault >&2; exit 3'], resources },
      ]);
    const input = await fixture.input('no-vault', {}, { runId: 'no-vault' });
    const reason = /the container vault-agent-init, which runs before the trainer, ended with code 3/;
    await runs.during(input, async (run) => void (await run.until(reason, 60)));
  });
});
