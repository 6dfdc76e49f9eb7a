// Tier: cluster. Two whole improvement runs of the demo agent: one trains on this machine, one in Jobs of the cluster.
import { execFile } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { parse, stringify } from 'yaml';
import { type Report, reportSchema } from '../../contracts/artifacts/report';
import { type TrainingManifest, trainingManifestSchema } from '../../contracts/artifacts/training';
import type { AgentSpecInput } from '../../contracts/config/agent-spec';
import { layout } from '../../store';
import { openPolicy } from '../helpers/open-policy';
import { ClusterFixture, root } from './cluster-fixture';

/** The small demo. With the large one this test takes about a quarter of an hour. */
const AGENT = resolve(root, process.env['WHET_CLUSTER_AGENT'] ?? 'examples/orders-desk/agent.tiny.yaml');

/** Time limit of one demo. It must end before jest's, because a stopped demo takes its services down. */
const DEMO_MS = process.env['WHET_CLUSTER_AGENT'] === undefined ? 1_200_000 : 1_800_000;

type Backend = 'local' | 'kubernetes';

interface Ended {
  report: Report;
  /** By the training's directory, which is named after capability and environment. */
  trainings: Map<string, TrainingManifest>;
  /** Files that each training kept of its Job: outcome and logs. */
  outcomes: string[][];
}

describe('the demo on a cluster', () => {
  const fixture = new ClusterFixture();
  const folder = fixture.run.folder;
  beforeAll(() => fixture.start(), 120_000);
  afterAll(async () => {
    for (const backend of ['local', 'kubernetes'] as const) rmSync(agentFile(backend), { force: true });
    await fixture.dispose();
  });

  /** agent.yaml of the demo with another backend, beside it: the demo analyst is looked for in the same folder. */
  const agentFile = (backend: Backend): string => join(dirname(AGENT), `.${fixture.namespace}-${backend}.yaml`);
  const writeAgent = (backend: Backend, home: string): void => {
    const spec = parse(readFileSync(AGENT, 'utf8')) as AgentSpecInput;
    const models = join(home, 'models');
    const { volumes = [], ...rest } = fixture.kubernetes({
      store: { hostPath: join(home, 'store') },
      // The GPUs of the test cluster are numbers without devices, as the trial of the run would find.
      resources: { cpu: '100m', memory: '2Gi', gpus: 0 },
    });
    const kubernetes = { ...rest, volumes: [...volumes, { hostPath: models, mountPath: models }] };
    const training = { ...spec.training, backend, ...(backend === 'local' ? {} : { kubernetes }) };
    writeFileSync(agentFile(backend), stringify({ ...spec, training }));
  };

  const demo = async (backend: Backend): Promise<Ended> => {
    const home = join(folder, backend);
    mkdirSync(home, { recursive: true });
    writeAgent(backend, home);
    const policy = join(home, 'policy.yaml');
    writeFileSync(policy, JSON.stringify(openPolicy!.policy));
    const env: NodeJS.ProcessEnv = { ...process.env, WHET_HOME: home, WHET_POLICY: policy };
    for (const name of [
      'OPENAI_API_KEY',
      'OPENAI_BASE_URL',
      'WHET_ANALYST_MODEL',
      'TEMPORAL_ADDRESS',
      'WHET_STORE',
    ] as const)
      delete env[name];
    const stdout = await new Promise<string>((done, failed) => {
      execFile(
        join(root, 'whet'),
        ['demo', agentFile(backend), '--json'],
        { env, maxBuffer: 16 << 20, timeout: DEMO_MS },
        (error, out, err) => {
          if (error) failed(new Error(`whet demo on ${backend} failed:\n${out}\n${err}`));
          else done(out);
        },
      );
    });
    const { runId, reportDirectory } = JSON.parse(stdout) as { runId: string; reportDirectory: string };
    const trainings = join(home, 'store', layout.training(runId, ''));
    const directories = readdirSync(trainings);
    const json = (path: string): unknown => JSON.parse(readFileSync(path, 'utf8'));
    return {
      report: reportSchema.parse(json(join(reportDirectory, 'report.json'))),
      trainings: new Map(
        directories.map((name) => [name, trainingManifestSchema.parse(json(join(trainings, name, 'manifest.json')))]),
      ),
      outcomes: directories
        .map((name) => join(trainings, name, 'cluster'))
        .map((path) => (existsSync(path) ? readdirSync(path) : [])),
    };
  };

  test(
    'ends like on this machine: the same adapters, loss curves, figures and verdict',
    async () => {
      const here = await demo('local');
      // The recipe's cache, so that the model is not made a second time.
      cpSync(join(folder, 'local', 'models'), join(folder, 'kubernetes', 'models'), { recursive: true });
      const there = await demo('kubernetes');
      expect(there.trainings.size).toBeGreaterThan(0);
      expect([...there.trainings.keys()].sort()).toEqual([...here.trainings.keys()].sort());
      for (const [name, { curve, adapterSha256 }] of there.trainings) {
        expect(curve).toEqual(here.trainings.get(name)?.curve);
        expect(adapterSha256).toBe(here.trainings.get(name)?.adapterSha256);
      }
      expect(here.outcomes.flat()).toEqual([]);
      for (const files of there.outcomes) expect(files.join(' ')).toMatch(/outcome-.*\.json.*\.log/);
      expect(there.report.verdict).toBe(here.report.verdict);
      expect(there.report.gate?.passed).toBe(here.report.gate?.passed);
      expect(there.report.evaluation).toEqual(here.report.evaluation);
      const rates = (['base', 'bestSingle', 'routed', 'oracle'] as const).map(
        (arm) => `${arm} ${there.report.evaluation?.[arm]?.passRate.estimate}`,
      );
      process.stdout.write(
        `\n${there.trainings.size} trainings as Jobs, adapters and curves as on this machine; ${rates.join(', ')}\n\n`,
      );
    },
    2 * DEMO_MS + 60_000,
  );
});
