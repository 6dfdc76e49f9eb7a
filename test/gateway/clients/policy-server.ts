import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { projectRoot } from '../../../contracts/project-root';

const ROOT = projectRoot();
const PYTHON = process.env['WHET_PYTHON'] || join(ROOT, '.toolchain', 'venv', 'bin', 'python');
const environment = {
  ...process.env,
  PYTHONPATH: join(ROOT, 'trainer-image'),
  HF_HUB_OFFLINE: '1',
  OMP_NUM_THREADS: '1',
  CUDA_VISIBLE_DEVICES: '',
};

/** Writes a small random model and one adapter for it. */
export function makeModel(directory: string, adapter: string): void {
  const code =
    'import sys; from pathlib import Path; from fixtures.tiny_model import make_model, make_adapter; ' +
    'model, adapter = map(Path, sys.argv[1:]); make_model(model, kv_heads=4, tied=True); ' +
    'make_adapter(model, adapter, 8, 1)';
  execFileSync(PYTHON, ['-c', code, directory, adapter], {
    env: { ...environment, PYTHONPATH: `${environment.PYTHONPATH}:${join(ROOT, 'test', 'trainer-image')}` },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
}

/** The real policy server on a free port. It loads adapters out of the folder in which the model's folder lies. */
export class PolicyServer {
  private constructor(
    private readonly child: ChildProcess,
    /** Ends in /v1. */
    readonly url: string,
  ) {}

  static async start(model: string, servedName: string): Promise<PolicyServer> {
    const args = [
      ...['-m', 'whetstone.serve', '--model', model, '--port', '0', '--served-name', servedName],
      ...['--adapters', dirname(model)],
    ];
    const child = spawn(PYTHON, args, { env: environment, stdio: ['ignore', 'pipe', 'inherit'] });
    const [line] = (await once(createInterface(child.stdout), 'line')) as [string];
    return new PolicyServer(child, `${/http:\S+/.exec(line)?.[0] ?? ''}/v1`);
  }

  get pid(): number {
    return this.child.pid ?? 0;
  }

  async stop(): Promise<void> {
    this.child.kill('SIGKILL');
    await once(this.child, 'exit');
  }
}
