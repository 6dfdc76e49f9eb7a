// Tier: cluster (the real trainer as Jobs of a real Kubernetes).
import { readdirSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { ReportInbox } from '../../activities/train/reports/report-inbox';
import { createReportEndpoint } from '../../activities/train/reports/report-endpoint';
import { trainingManifestSchema } from '../../contracts/artifacts/training';
import { getJson } from '../../store';
import { ClusterFixture } from './cluster-fixture';

describe('trainAdapter on a cluster', () => {
  const fixture = new ClusterFixture();
  beforeAll(() => fixture.start(), 120_000);
  afterAll(() => fixture.dispose(), 120_000);

  test('a training as a Job reports, and ends with loss curve and adapter of a training on this machine', async () => {
    const inbox = new ReportInbox();
    const endpoint = createReportEndpoint(inbox);
    await endpoint.listen({ host: '0.0.0.0', port: 0 });
    const { port } = endpoint.server.address() as AddressInfo;
    // The node's side of the pods' network.
    const url = `http://${process.env['WHET_REPORT_HOST'] ?? '10.88.77.1'}:${port}`;
    const onCluster = await fixture.run.run(
      fixture.activities(url, inbox).trainAdapter,
      await fixture.input('letters'),
    );
    await endpoint.close();
    const here = await fixture.run.run(
      fixture.activities().trainAdapter,
      await fixture.input('letters', { backend: 'local' }, { runId: 'run-2' }),
    );
    const curve = async (ref: typeof here.manifest) =>
      (await getJson(fixture.run.store, ref, trainingManifestSchema)).curve;
    expect(await curve(onCluster.manifest)).toEqual(await curve(here.manifest));
    expect(onCluster.sha256).toBe(here.sha256);
    expect(readdirSync(join(fixture.directory('letters'), 'cluster')).join(' ')).toMatch(
      /outcome-.*\.json.*whet-letters-.*\.log/,
    );
    const { accepted, ...refused } = inbox.counts;
    expect(accepted).toBeGreaterThan(0);
    expect(Object.values(refused)).toEqual(Object.values(refused).map(() => 0));
    const reasons = new Set(fixture.run.heartbeats.map(({ reason }) => reason?.kind));
    expect([...reasons]).toEqual(expect.arrayContaining(['Starting', 'Training']));
  });
});
