import { join } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import type { GatewayConfigInput } from '../../contracts/config/gateway-config';
import { TASK_QUEUES } from '../../contracts/names';
import { lastPollAt, LONG_POLL_MS } from '../pollers';
import { gatewayArguments } from './gateway-arguments';
import { INSTANCE_VARIABLE, type ProcessId } from './processes';
import type { Plan, VllmPlan } from './plan';
import { accepts } from './ports';
import type { ServiceName } from './supervisor-state';

/**
 * Server settings that make the fairness keys of runs effective. There is one partition, because the server is fair
 * only within a partition, and label chunks are far too few to need several.
 */
const FAIRNESS = [
  'matching.enableFairness=true',
  'matching.numTaskqueueReadPartitions=1',
  'matching.numTaskqueueWritePartitions=1',
];

/** How to start a service, and how to check that it works. */
export interface Service {
  name: ServiceName;
  command: string;
  /** It is called at every start, because the model's directory is known only after its recipe has ended. */
  arguments: () => string[];
  environment: () => Record<string, string>;
  url: string | null;
  /** Services that must be ready before this one is started for the first time. */
  needs: ServiceName[];
  /** true: it runs once and ends; the last line of its standard output is its result. */
  once?: boolean;
  /**
   * true: the service has helper processes in its process group. They are ended with it, because they use its memory.
   * If the service exits before it was ever ready, it is not started again, because a start takes minutes and would end
   * the same way. Default false.
   */
  isHeavy?: boolean;
  /** Whether the service works now. Never throws. */
  isReady(process: ProcessId, startedAt: number): Promise<boolean>;
  /**
   * Whether a service that was ready still works; also true if that is unknown. Never throws. Default: `isReady`
   * decides.
   */
  stillWorks?(): Promise<boolean>;
}

const loopback = '127.0.0.1';

async function answersOk(url: string): Promise<boolean> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(2_000) });
    await response.arrayBuffer();
    return response.ok;
  } catch {
    return false;
  }
}

/**
 * Whether a worker has asked for workflow tasks since a time (milliseconds since 1970); null if the server does not
 * answer.
 */
async function hasPollerSince({ address, namespace }: Plan['temporal'], since: number): Promise<boolean | null> {
  try {
    const connection = await Connection.connect({ address, connectTimeout: '2s' });
    try {
      const last = await lastPollAt(new Client({ connection, namespace }), TASK_QUEUES.orchestration);
      return last !== null && last >= since;
    } finally {
      await connection.close();
    }
  } catch {
    return null;
  }
}

/**
 * The services of a plan, in the order of their starts. `modelDirectory` is called when the policy server and the
 * worker start.
 */
export function services(plan: Plan, modelDirectory: () => string | null): Service[] {
  const list: Service[] = [];
  const shared = () => ({ [INSTANCE_VARIABLE]: plan.instance, WHET_HOME: plan.home, WHET_PYTHON: plan.python });
  const { start } = plan.temporal;
  if (start !== null) {
    list.push({
      name: 'temporal',
      command: start.cli,
      arguments: () => [
        ...['server', 'start-dev', '--ip', loopback, '--port', String(start.port), '--ui-port', String(start.uiPort)],
        ...['--db-filename', start.database, '--log-level', 'warn', '--ui-disable-news-fetch'],
        ...FAIRNESS.flatMap((value) => ['--dynamic-config-value', value]),
        ...(plan.temporal.namespace === 'default' ? [] : ['--namespace', plan.temporal.namespace]),
      ],
      environment: shared,
      url: `http://${loopback}:${start.uiPort}`,
      needs: [],
      isReady: async () => (await accepts(loopback, start.port)) && (await accepts(loopback, start.uiPort)),
      // The kernel accepts connections even for a stopped process, so the check needs an answer.
      stillWorks: () => answersOk(`http://${loopback}:${start.uiPort}`),
    });
  }
  if (plan.analyst !== null) {
    const { script, assets, port } = plan.analyst;
    list.push({
      name: 'analyst',
      command: process.execPath,
      arguments: () => [
        ...[script, '--port', String(port), '--journal', join(plan.home, 'analyst-journal.jsonl')],
        ...['--latency-ms', process.env['WHET_DEMO_ANALYST_LATENCY_MS'] || '0'],
        ...(assets === null ? [] : ['--assets', assets, '--prompts', join(plan.home, 'analyst-prompts')]),
      ],
      environment: shared,
      url: `http://${loopback}:${port}`,
      needs: [],
      isReady: () => answersOk(`http://${loopback}:${port}/healthz`),
    });
  }
  if (plan.model !== null) list.push(...modelServices(plan, plan.model, modelDirectory));
  if (plan.gateway !== null) list.push(gatewayService(plan, plan.gateway, shared));
  list.push({
    name: 'worker',
    command: process.execPath,
    arguments: () => [
      '--enable-source-maps',
      join(plan.root, 'dist', 'workers', 'main.js'),
      '--queues',
      Object.keys(TASK_QUEUES).join(','),
    ],
    environment: () => ({ ...shared(), ...workerEnvironment(plan, modelDirectory()) }),
    url: null,
    // The worker needs the model's directory. Its activities find out whether the policy server answers yet.
    needs: [
      ...(start === null ? [] : ['temporal' as const]),
      ...(plan.model?.source.kind === 'recipe' ? ['model' as const] : []),
    ],
    isReady: async (_, startedAt) => (await hasPollerSince(plan.temporal, startedAt)) === true,
    // If the server does not answer, the state of the worker is unknown.
    stillWorks: async () => (await hasPollerSince(plan.temporal, Date.now() - 2.5 * LONG_POLL_MS)) !== false,
  });
  return list;
}

/** The gateway keeps running while its model server is restarted; /readyz says what is missing. */
function gatewayService(
  plan: Plan,
  { agent, baseModel, replica, port }: NonNullable<Plan['gateway']>,
  shared: () => Record<string, string>,
): Service {
  // One machine does everything here, so the router's call may have to wait for a trainer.
  const router = { timeoutMs: 1_000 };
  const config: GatewayConfigInput = {
    version: 1,
    port,
    agents: [{ name: agent, baseModel, replicas: [replica], router }],
  };
  return {
    name: 'gateway',
    command: process.execPath,
    arguments: () => gatewayArguments(join(plan.root, 'dist')),
    environment: () => ({ ...shared(), WHET_STORE: plan.storeRoot, WHET_GATEWAY_CONFIG: JSON.stringify(config) }),
    url: `http://${loopback}:${port}/v1`,
    needs: plan.model === null ? [] : ['policy'],
    isReady: () => answersOk(`http://${loopback}:${port}/healthz`),
  };
}

function modelServices(
  plan: Plan,
  { source, servedName, port, vllm }: NonNullable<Plan['model']>,
  modelDirectory: () => string | null,
): Service[] {
  const environment = () => ({
    [INSTANCE_VARIABLE]: plan.instance,
    WHET_HOME: plan.home,
    PYTHONPATH: join(plan.root, 'trainer-image'),
    PYTHONUNBUFFERED: '1',
    // All files are on the disk, so asking the hub would only cost time.
    HF_HUB_OFFLINE: process.env['HF_HUB_OFFLINE'] ?? '1',
  });
  const at = () => ['--model', modelDirectory() ?? '', '--port', String(port), '--served-name', servedName];
  const policy: Service = {
    name: 'policy',
    command: plan.python,
    url: `http://${loopback}:${port}`,
    needs: source.kind === 'recipe' ? ['model'] : [],
    ...(vllm === null
      ? {
          arguments: () => ['-m', 'whetstone.serve', ...at(), '--host', loopback, '--adapters', plan.storeRoot],
          environment,
          isReady: () => answersOk(`http://${loopback}:${port}/healthz`),
        }
      : {
          arguments: () => ['-m', 'whetstone.serve.with_vllm', ...at(), ...vllmArguments(vllm)],
          environment: () => ({ ...environment(), WHET_VLLM_PYTHON: vllm.python }),
          isReady: () => answersOk(`http://${loopback}:${port}/health`),
          isHeavy: true,
        }),
  };
  if (source.kind === 'directory') return [policy];
  const recipe: Service = {
    name: 'model',
    command: plan.python,
    arguments: () => [
      source.script,
      '--seed',
      String(source.seed),
      ...source.arguments,
      '--cache',
      join(plan.home, 'models'),
    ],
    environment,
    url: null,
    needs: [],
    once: true,
    isReady: () => Promise.resolve(false),
  };
  return [recipe, policy];
}

/** The settings of agent.yaml for vLLM; only `whetstone.sampling.vllm_command` makes its flags from them. */
function vllmArguments({ rank, settings }: VllmPlan): string[] {
  const { maxModelLength, toolCallParser, reasoningParser, maxAdapters, gpuMemoryUtilization } = settings ?? {};
  const given = Object.entries({
    '--rank': rank,
    '--adapters': maxAdapters,
    '--length': maxModelLength,
    '--tool-call-parser': toolCallParser,
    '--reasoning-parser': reasoningParser,
    '--gpu-share': gpuMemoryUtilization,
  }).flatMap(([flag, value]) => (value === undefined ? [] : [flag, String(value)]));
  return [...given, '--', ...(settings?.arguments ?? [])];
}

/** Variables that the worker does not inherit: the addresses and places of server, store, model and demo analyst. */
function workerEnvironment(plan: Plan, modelDirectory: string | null): Record<string, string> {
  return {
    WHET_STORE: plan.storeRoot,
    // All that this command starts listens on the loopback address, so that only people of this machine start runs. A
    // Temporal server elsewhere has other users.
    ...(plan.temporal.start === null ? {} : { WHET_OWN_FOLDERS: 'allowed' }),
    TEMPORAL_ADDRESS: plan.temporal.address,
    TEMPORAL_NAMESPACE: plan.temporal.namespace,
    ...(plan.model === null ? {} : { WHET_MODEL_URL: `http://${loopback}:${plan.model.port}/v1` }),
    ...(modelDirectory === null ? {} : { WHET_MODEL_PATH: modelDirectory }),
    ...(plan.analyst === null ? {} : { WHET_DEMO_ANALYST_URL: `http://${loopback}:${plan.analyst.port}/v1` }),
    ...(plan.analyst?.isOnly === true ? { OPENAI_API_KEY: '', OPENAI_BASE_URL: '', WHET_ANALYST_ONLY: 'demo' } : {}),
  };
}
