// Tier: cluster. Injects every way in which a training gets stuck: what `whet why` says within a minute, and how the
// run goes on.
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { BatchV1Api, PatchStrategy, setHeaderOptions } from '@kubernetes/client-node';
import type { TrainInput } from '../../contracts/messages/sharpen-stage';
import { ClusterFixture, type KubernetesInput, python, root } from './cluster-fixture';
import { ClusterRuns, type LiveRun, pause } from './cluster-runs';

const WITHIN_SECONDS = 60;
/** With `PACE_SECONDS` such a training lasts at least 15 s on any machine, which leaves time to break it. */
const LONG = { iterations: 150, checkpointEvery: 5 };
/** Least duration of an episode. An iteration has eight episodes, one after another. */
const PACE_SECONDS = 0.0125;

describe('a stuck training says why', () => {
  const fixture = new ClusterFixture();
  const runs = new ClusterRuns(fixture);
  const batch = fixture.config.makeApiClient(BatchV1Api);
  const rows: string[][] = [];
  /** Repairs what the scenario broke; null once that is done. */
  let pendingCure: (() => Promise<unknown>) | null = null;

  beforeAll(async () => {
    await fixture.start();
    await runs.start();
  });
  // Repairs after a failure or a time-out, too, because the scenarios share one cluster.
  afterEach(async () => {
    await pendingCure?.();
    pendingCure = null;
  });
  afterAll(async () => {
    const widths = [0, 1, 2, 3].map((column) => Math.max(...rows.map((row) => row[column]!.length)));
    process.stdout.write(
      `\n${rows.map((row) => row.map((cell, i) => cell.padEnd(widths[i]!)).join('  ')).join('\n')}\n\n`,
    );
    await runs.stop();
    await fixture.dispose();
  });

  interface Scenario {
    /** Also the capability's id. */
    name: string;
    training?: object;
    kubernetes?: Partial<KubernetesInput>;
    modelPath?: string;
    reportUrl?: string;
    /** The trial is real, and what it finds must be found before the analyst is asked. */
    trial?: boolean;
    /** Called before the run starts. */
    before?: () => Promise<unknown>;
    /** Called when the first iterations are done. The minute counts from its end. */
    inject?: (input: TrainInput) => Promise<unknown>;
    reason: RegExp;
    /** The container ends by itself after loading. The minute counts from its end. */
    breaksItself?: 'ends';
    /** Repairs what was broken. Called in any case. */
    cure?: (input: TrainInput) => Promise<unknown>;
    /** `recovers`: the run ends well; `waits`: it goes on waiting; else what `whet why` says when it was given up. */
    then: 'recovers' | 'waits' | RegExp;
  }

  const scenario = ({
    name,
    training,
    kubernetes,
    modelPath,
    reportUrl,
    trial = false,
    before,
    inject,
    reason,
    breaksItself,
    cure,
    then,
  }: Scenario) =>
    test(`${name}: ${then instanceof RegExp ? `stops as ${then.source}` : then}`, async () => {
      const changes = { runId: `stuck-${name}`, ...(modelPath === undefined ? {} : { modelPath }) };
      const pace = inject ? { paceSeconds: PACE_SECONDS } : {};
      const input = await fixture.input(
        name,
        { ...training, kubernetes: fixture.kubernetes(kubernetes) },
        { ...changes, ...pace },
      );
      pendingCure = cure ? () => cure(input) : null;
      await before?.();
      const look = async (run: LiveRun) => {
        if (inject) {
          await run.until(/: Training, iteration \d/, 300);
          await inject(input);
        }
        // A container that ends by itself does so after loading, which can take long on a busy machine.
        const found = await run.until(reason, breaksItself ? 300 : WITHIN_SECONDS);
        const { said } = found;
        const seconds = breaksItself === 'ends' ? (Date.now() - containerEnd(input)) / 1_000 : found.seconds;
        expect(seconds).toBeLessThan(WITHIN_SECONDS);
        const sentence = said.split('\n').find((line) => reason.test(line)) ?? said;
        await pendingCure?.();
        pendingCure = null;
        if (then === 'recovers') await run.end();
        else if (then instanceof RegExp) await run.until(then, 180);
        if (trial) expect(run.calls).not.toContain('labelChunk:0');
        process.stdout.write(`${name}: ${seconds.toFixed(1)} s, ${sentence}\n`);
        rows.push([
          name,
          `${seconds.toFixed(1)} s`,
          then instanceof RegExp ? then.source : then,
          sentence.slice(0, 230),
        ]);
      };
      await runs.during(input, look, { reportUrl: reportUrl ?? null, trial });
    });

  const jobOf = async (input: TrainInput) => {
    const { items } = await batch.listNamespacedJob({
      namespace: fixture.namespace,
      labelSelector: `whetstone.dev/capability=${input.job}`,
    });
    return { name: items[0]!.metadata!.name!, namespace: fixture.namespace };
  };
  /** When the container of a failed training ended, in milliseconds since 1970, from the outcome in the store. */
  const containerEnd = (input: TrainInput): number => {
    const folder = join(fixture.directory(input.job, input.context.runId), 'cluster');
    const outcome = JSON.parse(
      readFileSync(
        join(
          folder,
          readdirSync(folder).find((name) => name.startsWith('outcome-'))!,
        ),
        'utf8',
      ),
    ) as {
      pods: { container: { terminated: { finishedAt: string } } }[];
    };
    return Date.parse(outcome.pods[0]!.container.terminated.finishedAt);
  };
  /** Sets the optimiser's state in the newest checkpoint to NaN, and lets the next pod resume from it. */
  const poisonCheckpoint = async (input: TrainInput): Promise<void> => {
    const name = await podOf(input);
    await signalTrainer('SIGSTOP')(input);
    const poison = [
      'import hashlib, json, pathlib, sys, torch',
      'path = sorted(pathlib.Path(sys.argv[1]).glob("iteration-*"))[-1] / "optimizer.pt"',
      'state = torch.load(path)',
      'for entry in state["state"].values(): entry["exp_avg"].fill_(torch.nan)',
      'torch.save(state, path)',
      // As if the trainer itself had written it: a file that changed afterwards is not loaded.
      'hashes = path.parent / "files.sha256.json"',
      'named = json.loads(hashes.read_text()) | {path.name: hashlib.sha256(path.read_bytes()).hexdigest()}',
      'hashes.write_text(json.dumps(named))',
    ].join('\n');
    execFileSync(python, ['-c', poison, join(fixture.directory(input.job, input.context.runId), 'checkpoints')]);
    await fixture.cluster.deletePod(fixture.namespace, name, 0);
  };
  const podOf = async (input: TrainInput) => {
    const { items } = await fixture.core.listNamespacedPod({
      namespace: fixture.namespace,
      labelSelector: `whetstone.dev/capability=${input.job}`,
    });
    return items.find(({ status }) => status?.phase === 'Running')!.metadata!.name!;
  };
  /** Process ids of the trainer on this machine, outside of its container. */
  const trainerProcesses = (input: TrainInput): number[] => {
    const directory = fixture.directory(input.job, input.context.runId);
    const isTrainer = (pid: string) => {
      try {
        return (
          /^\d+$/.test(pid) &&
          readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(`whetstone.train\0--job\0${directory}/`)
        );
      } catch {
        return false;
      }
    };
    return readdirSync('/proc').filter(isTrainer).map(Number);
  };
  const signalTrainer =
    (signal: NodeJS.Signals) =>
    async (input: TrainInput): Promise<void> => {
      const found = trainerProcesses(input);
      expect(found).toHaveLength(1);
      process.kill(found[0]!, signal);
    };
  /** Continues a stopped trainer, if it is still there. */
  const releaseTrainer = (input: TrainInput): void =>
    trainerProcesses(input).forEach((pid) => process.kill(pid, 'SIGCONT'));
  /** Stops or starts a part of the cluster, and waits until it has stopped or serves again. */
  const part = (name: 'node' | 'api', action: 'stop' | 'start'): void =>
    void execFileSync(join(root, 'scripts', 'cluster.sh'), [name, action], { stdio: ['ignore', 'ignore', 'inherit'] });
  const quota = { metadata: { name: 'none' }, spec: { hard: { pods: '0' } } };

  scenario({
    name: 'trial-image',
    kubernetes: { image: 'registry.invalid/whetstone/absent:1', limits: { imageMinutes: 0.2 } },
    trial: true,
    reason: /trial of a trainer: ImagePull, .*(resolve|pull)/s,
    then: /trial: Trainer\.CannotStart: .*could not be pulled/s,
  });
  scenario({
    name: 'missing-image',
    kubernetes: { image: 'registry.invalid/whetstone/absent:1' },
    reason: /: ImagePull, .*(resolve|pull)/s,
    then: 'waits',
  });
  scenario({
    name: 'no-gpu',
    kubernetes: { resources: { gpuResource: 'example.com/gpu' } },
    reason: /: Unschedulable, .*Insufficient example.com\/gpu/,
    then: 'waits',
  });
  scenario({
    name: 'suspended',
    kubernetes: { queue: 'gpus' },
    reason: /: Queued, queue gpus has not admitted/,
    // What Kueue does when it admits a Job.
    cure: async (input) =>
      batch.patchNamespacedJob(
        { ...(await jobOf(input)), body: { spec: { suspend: false } } },
        setHeaderOptions('Content-Type', PatchStrategy.MergePatch),
      ),
    then: 'recovers',
  });
  scenario({
    name: 'quota',
    before: () => fixture.core.createNamespacedResourceQuota({ namespace: fixture.namespace, body: quota }),
    reason: /: Queued, .*exceeded quota: none/,
    cure: () => fixture.core.deleteNamespacedResourceQuota({ namespace: fixture.namespace, name: 'none' }),
    then: 'recovers',
  });
  scenario({
    name: 'volume',
    kubernetes: { volumes: [{ hostPath: '/nowhere', mountPath: '/x' }] },
    reason: /: ConfigError, .*\/nowhere/,
    then: 'waits',
  });
  scenario({
    name: 'memory',
    kubernetes: { resources: { memory: '150Mi', cpu: '100m', gpus: 0 } },
    breaksItself: 'ends',
    reason: /Trainer\.OutOfMemory.*\(OOMKilled\)/,
    then: /Trainer\.OutOfMemory/,
  });
  scenario({
    name: 'exception',
    kubernetes: { volumes: [] },
    breaksItself: 'ends',
    reason: /\(CodeError\): .*No module named/s,
    then: /Trainer\.Failed/,
  });
  scenario({
    name: 'config',
    modelPath: '/nowhere/model',
    breaksItself: 'ends',
    reason: /\(CodeError\): .*code 64.*not a model directory/s,
    then: /Trainer\.JobInvalid/,
  });
  scenario({
    name: 'nan',
    training: { ...LONG, checkpointEvery: 1 },
    inject: poisonCheckpoint,
    reason: /\(CodeError\): .*code 66.*not finite/s,
    breaksItself: 'ends',
    then: /Trainer\.Diverged/,
  });
  scenario({
    name: 'crash',
    training: LONG,
    inject: signalTrainer('SIGKILL'),
    reason: /: CodeError, .*signal 9/,
    then: 'recovers',
  });
  scenario({
    name: 'hang',
    training: LONG,
    kubernetes: { limits: { stalledMinutes: 0.2 }, graceSeconds: 3 },
    inject: signalTrainer('SIGSTOP'),
    reason: /: Stalled, no iteration for \d+ s/,
    then: 'recovers',
  });
  scenario({
    name: 'eviction',
    training: LONG,
    inject: async (input) => {
      const name = await podOf(input);
      await fixture.core.createNamespacedPodEviction({
        namespace: fixture.namespace,
        name,
        body: { metadata: { name, namespace: fixture.namespace } },
      });
    },
    reason: /: Preempted, /,
    then: 'recovers',
  });
  // The trainer is stopped while a part of the cluster is away, so that it cannot finish meanwhile on a fast machine.
  scenario({
    name: 'node',
    training: LONG,
    inject: async (input) => {
      await signalTrainer('SIGSTOP')(input);
      part('node', 'stop');
    },
    reason: /: NodeLost, node \S+ has fallen silent/,
    cure: async (input) => {
      part('node', 'start');
      releaseTrainer(input);
    },
    then: 'recovers',
  });
  scenario({
    name: 'api',
    training: LONG,
    inject: async (input) => {
      await signalTrainer('SIGSTOP')(input);
      part('api', 'stop');
    },
    reason: /: Unreachable, .*not answered/,
    cure: async (input) => {
      await pause(40_000);
      part('api', 'start');
      releaseTrainer(input);
    },
    then: 'recovers',
  });
  scenario({
    name: 'reports',
    training: { iterations: 40 },
    reportUrl: 'http://10.88.77.1:9',
    inject: async () => undefined,
    reason: /: Training, iteration|promoted/,
    then: 'recovers',
  });
});
