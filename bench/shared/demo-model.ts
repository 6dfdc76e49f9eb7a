import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { PreparedSpec } from '../../contracts/artifacts/prepared-spec';
import type { AgentSpec } from '../../contracts/config/agent-spec';
import { MODULE_FACTS } from '../../contracts/config/environment-kinds/facts';
import { projectRoot } from '../../contracts/project-root';
import { DEMO_ANALYST_MODEL, DEMO_ANALYST_NAME } from '../../examples/orders-desk/analyst/answers';
import { modelDirectorySha256 } from '../../store/model-hash';

/** Folder of the demo agent. */
export const DESK = join(projectRoot(), 'examples', 'orders-desk');
const PYTHON = join(projectRoot(), '.toolchain', 'venv', 'bin', 'python');
const ENVIRONMENT = { ...process.env, PYTHONPATH: join(projectRoot(), 'trainer-image') };

/** Directory of the seed's base model, trained unless the cache has it. */
export async function trainModel(seed: number, size: string, cache: string): Promise<string> {
  const child = spawn(PYTHON, [join(DESK, 'recipe.py'), '--seed', String(seed), '--size', size, '--cache', cache], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: ENVIRONMENT,
  });
  let output = '';
  child.stdout.on('data', (data: Buffer) => (output += data.toString()));
  const code = await new Promise((done) => child.once('exit', done));
  if (code !== 0) throw new Error(`The recipe ended with ${String(code)}.`);
  return (JSON.parse(output.trim().split('\n').at(-1) as string) as { path: string }).path;
}

/** Serves a model while `action` runs; the argument is the base URL. */
export async function withModel<T>(path: string, name: string, action: (url: string) => Promise<T>): Promise<T> {
  const port = 20_000 + Math.floor(Math.random() * 20_000);
  const child = spawn(
    PYTHON,
    ['-m', 'whetstone.serve', '--model', path, '--port', String(port), '--served-name', name],
    { stdio: 'ignore', env: ENVIRONMENT },
  );
  try {
    for (let attempt = 0; ; attempt++) {
      const ready = await fetch(`http://127.0.0.1:${port}/healthz`).catch(() => null);
      if (ready?.ok) break;
      if (attempt === 240 || child.exitCode !== null) throw new Error('The policy server did not start.');
      await delay(500);
    }
    return await action(`http://127.0.0.1:${port}/v1`);
  } finally {
    child.kill('SIGTERM');
  }
}

/** The prepared spec of one seed's run of the demo agent, as `prepareRun` would freeze it. */
export async function preparedDemoSpec(
  spec: AgentSpec,
  seed: number,
  modelPath: string,
  modelBaseUrl: string,
  analystUrl: string,
): Promise<PreparedSpec> {
  const environmentPath = join(DESK, 'environment.py');
  return {
    spec: { ...spec, seed },
    environmentPath,
    environmentSha256: createHash('sha256')
      .update(await readFile(environmentPath))
      .digest('hex'),
    facts: MODULE_FACTS,
    modelBaseUrl,
    modelPath,
    baseModelSha256: await modelDirectorySha256(modelPath),
    servedModel: { weightsSha256: null, root: null, maxModelLength: null },
    analyst: { baseUrl: analystUrl, model: DEMO_ANALYST_MODEL, displayName: DEMO_ANALYST_NAME },
    sandbox: { mode: 'jail', detail: 'the measurement runs on one machine' },
  };
}
