/** A namespace of a real cluster for one test file, and inputs of trainings of a tiny model in it. */
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmodSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { CoreV1Api, KubeConfig } from '@kubernetes/client-node';
import { modelDirectorySha256 } from '../../store/model-hash';
import { createTrainActivities } from '../../activities/train';
import { KubernetesBackend } from '../../activities/train/kubernetes-backend';
import { LocalBackend } from '../../activities/train/local-backend';
import { ReportInbox } from '../../activities/train/reports/report-inbox';
import { preparedSpecSchema } from '../../contracts/artifacts/prepared-spec';
import type { AgentSpecInput } from '../../contracts/config/agent-spec';
import type { TrainInput } from '../../contracts/messages/sharpen-stage';
import { Cluster } from '../../k8s/cluster';
import { getJson, layout, putJson } from '../../store';
import { RunFixture } from '../activities/run-fixture';
import { openPolicy } from '../helpers/open-policy';

export const root = join(__dirname, '..', '..');
export const python = process.env['WHET_PYTHON'] ?? join(root, '.toolchain', 'venv', 'bin', 'python');
const fixtures = join(root, 'test', 'trainer-image', 'fixtures');

type TrainingSpec = NonNullable<AgentSpecInput['training']>;
export type KubernetesInput = NonNullable<TrainingSpec['kubernetes']>;

/** Folder with the Python packages. The test image does not contain them; they are mounted. */
const packages = () =>
  execFileSync(python, ['-c', 'import sysconfig; print(sysconfig.get_path("purelib"))'], { encoding: 'utf8' }).trim();

export class ClusterFixture {
  readonly namespace = `whet-test-${randomBytes(4).toString('hex')}`;
  readonly run = new RunFixture();
  readonly config = new KubeConfig();
  readonly core: CoreV1Api;
  readonly cluster: Cluster;
  private model = '';

  constructor(open: (config: KubeConfig) => Cluster = (config) => new Cluster(config)) {
    this.config.loadFromDefault();
    this.core = this.config.makeApiClient(CoreV1Api);
    this.cluster = open(this.config);
    chmodSync(this.run.folder, 0o755);
  }

  /** Creates the namespace and the model. */
  async start(): Promise<void> {
    await this.core.createNamespace({ body: { metadata: { name: this.namespace } } });
    this.model = join(this.run.folder, 'model');
    const make =
      'import sys; from pathlib import Path; from tiny_model import make_model; make_model(Path(sys.argv[1]), 4, True)';
    execFileSync(python, ['-c', make, this.model], { env: { ...process.env, PYTHONPATH: fixtures } });
    execFileSync('chmod', ['-R', 'a+rX', this.model]);
  }

  async dispose(): Promise<void> {
    await this.core.deleteNamespace({ name: this.namespace });
    await this.run.dispose();
  }

  /** Section training.kubernetes of agent.yaml for the test image. */
  kubernetes(changes: Partial<KubernetesInput> = {}): KubernetesInput {
    return {
      namespace: this.namespace,
      image: process.env['WHET_CLUSTER_IMAGE'] ?? 'localhost/whetstone/trainer:1',
      imagePullPolicy: 'IfNotPresent',
      store: { hostPath: this.run.folder },
      volumes: [{ hostPath: packages(), mountPath: '/opt/packages/site-packages' }],
      resources: { cpu: '100m', memory: '2Gi', gpus: 1 },
      seccomp: 'localhost/whetstone-trainer.json',
      graceSeconds: 10,
      ...changes,
    };
  }

  /** Input of a training of the letters environment, whose episodes take at least `paceSeconds`. */
  async input(
    job: string,
    training: Partial<TrainingSpec> = {},
    changes: { runId?: string; modelPath?: string; paceSeconds?: number } = {},
  ): Promise<TrainInput> {
    const runId = changes.runId ?? 'run-1';
    const context = await this.run.prepare(
      'http://127.0.0.1:9/v1',
      {
        training: {
          backend: 'kubernetes',
          rank: 8,
          groups: 2,
          rolloutsPerGroup: 4,
          iterations: 12,
          warmupIterations: 1,
          learningRate: 0.01,
          maxCompletionTokens: 12,
          checkpointEvery: 2,
          // The stage that labels is a fake here, so no labels say which tasks call for the capability.
          probeEvery: 0,
          kubernetes: this.kubernetes(),
          ...training,
        },
      },
      undefined,
      runId,
    );
    const prepared = await getJson(this.run.store, context.spec, preparedSpecSchema);
    const spec = await putJson(this.run.store, layout.run(runId), `spec-${job}.json`, {
      ...prepared,
      modelPath: changes.modelPath ?? this.model,
      baseModelSha256: await modelDirectorySha256(this.model),
    });
    const letters = readFileSync(join(fixtures, 'letters.py'), 'utf8').replace(
      'PACE_SECONDS = 0\n',
      `PACE_SECONDS = ${changes.paceSeconds ?? 0}\n`,
    );
    const source = await this.run.store.put(
      `runs/${runId}/environments/letters`,
      'environment.py',
      Buffer.from(letters),
    );
    return { context: { ...context, spec }, job, environments: [{ id: 'letters', source }], budgetFactor: 1 };
  }

  /** The activities of a new worker. */
  activities(reportUrl: string | null = null, inbox = new ReportInbox()) {
    return createTrainActivities({
      store: this.run.store,
      backends: {
        local: new LocalBackend({
          trainer: { python, pythonPath: join(root, 'trainer-image') },
          jailProfile: join(root, 'sandbox', 'profile.json'),
        }),
        kubernetes: new KubernetesBackend({
          storeRoot: this.run.folder,
          policy: openPolicy,
          openCluster: async () => this.cluster,
          reports: reportUrl === null ? null : { inbox, url: reportUrl },
        }),
      },
    });
  }

  /** Directory of a training. */
  directory(job: string, runId = 'run-1'): string {
    const trainings = this.run.store.localPath(`runs/${runId}/training`);
    const found = readdirSync(trainings).find((name) => name.startsWith(`${job}-`));
    return join(trainings, found ?? 'none');
  }
}
