/** The servers that are compared: this gateway, Portkey's and LiteLLM's, all in front of the same stub model server. */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Registry } from '../../contracts/artifacts/registry';
import type { GatewayConfigInput } from '../../contracts/config/gateway-config';
import type * as GatewayArguments from '../../cli/supervisor/gateway-arguments';
import { layout, LocalStore, putJson } from '../../store';
import { freePort, type Processes, untilHealthy } from '../shared/processes';

/** A server under measurement. */
export interface Target {
  name: string;
  origin: string;
  path: string;
  headers: Record<string, string>;
  model: string;
  /** `open` gives headers under which it takes so many requests. Absent: it takes any number. */
  episodes?: { requests: number; open: () => Promise<Record<string, string>> };
}

/** Where the two peers are installed, apart from the project's own packages. */
const CACHE = join(process.cwd(), '.whetstone', 'bench');

/** A registry with one version of two adapters, so that the gateway has something to route between. */
async function writeRegistry(storeRoot: string, agent: string): Promise<void> {
  const adapter = (name: string, summary: string) => ({
    name: `${name}@0123456789ab`,
    capabilityId: name,
    summary,
    key: `adapters/${agent}/${name}`,
    sha256: 'a'.repeat(64),
  });
  const store = new LocalStore(storeRoot);
  const capabilities = ['alpha', 'beta'].map((id) => ({ id, summary: `${id} things` }));
  const router = { kind: 'logits' as const, leftOut: [], capabilities, temperature: 1, threshold: 0 };
  const registry: Registry = {
    agent,
    active: 1,
    versions: [
      {
        version: 1,
        runId: 'run-bench',
        createdAt: new Date(0).toISOString(),
        replaced: null,
        baseModelSha256: 'a'.repeat(64),
        adapters: [adapter('alpha', 'alpha things'), adapter('beta', 'beta things')],
        routedMinusBase: { estimate: 0.4, low: 0.3, high: 0.5 },
        judgedRouter: { kind: router.kind, artifact: await putJson(store, 'routers', 'router.json', router) },
      },
    ],
  };
  await store.swapDocument(layout.registry(agent), registry, null);
}

/** This project's gateway with its defaults, as built in `dist`. It keeps its files in `folder`. */
export async function startWhetstone(
  name: string,
  dist: string,
  stub: string,
  folder: string,
  processes: Processes,
): Promise<Target> {
  await writeRegistry(join(folder, 'store'), 'bench');
  const port = await freePort();
  const config: GatewayConfigInput = {
    version: 1,
    port,
    agents: [{ name: 'bench', baseModel: 'bench-base', replicas: [`${stub}/v1`] }],
  };
  const environment = {
    WHET_GATEWAY_CONFIG: JSON.stringify(config),
    WHET_HOME: folder,
    WHET_LOG_LEVEL: 'warn',
    NODE_ENV: 'production',
  };
  // With the flags of that build, which are a part of what is compared.
  const { gatewayArguments } = (await import(
    join(dist, 'cli', 'supervisor', 'gateway-arguments.js')
  )) as typeof GatewayArguments;
  processes.start(process.execPath, gatewayArguments(dist), environment);
  const origin = `http://127.0.0.1:${port}`;
  await untilHealthy(`${origin}/readyz`, 20);
  return { name, origin, path: '/v1/chat/completions', headers: {}, model: 'bench' };
}

/**
 * Portkey's gateway from npm. As installed, 1.15.2 answers streams with status 500 (it changes the headers of a fetch
 * answer, which are immutable; tried with Node 20 and 24), so its streams are left out of the comparison.
 */
export async function startPortkey(stub: string, processes: Processes): Promise<Target> {
  const folder = join(CACHE, 'portkey');
  const script = join(folder, 'node_modules', '@portkey-ai', 'gateway', 'build', 'start-server.js');
  if (!existsSync(script)) {
    mkdirSync(folder, { recursive: true });
    execFileSync('npm', ['install', '--prefix', folder, '--no-audit', '--no-fund', '@portkey-ai/gateway@1.15.2'], {
      stdio: 'inherit',
    });
  }
  const port = await freePort();
  processes.start(process.execPath, [script, `--port=${port}`, '--headless'], {
    NODE_ENV: 'production',
    TRUSTED_CUSTOM_HOSTS: '127.0.0.1,localhost',
  });
  const origin = `http://127.0.0.1:${port}`;
  await untilHealthy(`${origin}/`, 30);
  const headers = {
    'x-portkey-provider': 'openai',
    'x-portkey-custom-host': `${stub}/v1`,
    authorization: 'Bearer none',
  };
  return { name: 'portkey', origin, path: '/v1/chat/completions', headers, model: 'bench-base' };
}

/** LiteLLM's proxy from PyPI. */
export async function startLiteLlm(stub: string, processes: Processes): Promise<Target> {
  const folder = join(CACHE, 'litellm');
  const command = join(folder, 'bin', 'litellm');
  if (!existsSync(command)) {
    mkdirSync(CACHE, { recursive: true });
    execFileSync(
      'uv',
      ['venv', '--quiet', '--python', join(process.cwd(), '.toolchain', 'venv', 'bin', 'python'), folder],
      { stdio: 'inherit' },
    );
    execFileSync('uv', ['pip', 'install', '--quiet', '--python', join(folder, 'bin', 'python'), 'litellm[proxy]'], {
      stdio: 'inherit',
    });
  }
  const port = await freePort();
  const config = join(CACHE, 'litellm.yaml');
  writeFileSync(
    config,
    [
      'model_list:',
      '  - model_name: bench-base',
      `    litellm_params: {model: openai/bench-base, api_base: "${stub}/v1", api_key: none}`,
      'litellm_settings: {telemetry: false, set_verbose: false}',
      '',
    ].join('\n'),
  );
  const environment = {
    LITELLM_LOG: 'ERROR',
    LITELLM_LOCAL_MODEL_COST_MAP: 'True',
    LITELLM_MODE: 'PRODUCTION',
    // No gateway in this comparison checks keys.
    LITELLM_DANGEROUSLY_PERMIT_WEAK_OR_UNSET_MASTER_KEY: 'true',
  };
  processes.start(command, ['--config', config, '--port', String(port), '--host', '127.0.0.1'], environment);
  const origin = `http://127.0.0.1:${port}`;
  await untilHealthy(`${origin}/health/liveliness`, 120);
  return {
    name: 'litellm',
    origin,
    path: '/v1/chat/completions',
    headers: { authorization: 'Bearer none' },
    model: 'bench-base',
  };
}
