import { spawn, type ChildProcess } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { Connection } from '@temporalio/client';

/** A port that was free a moment ago. */
export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** Child processes of a measurement; `end` stops those that still run. */
export class Processes {
  private readonly children: ChildProcess[] = [];

  /** Starts a program; with WHET_BENCH_LOGS its log is shown. */
  start(command: string, args: readonly string[], env: NodeJS.ProcessEnv = {}): ChildProcess {
    const child = spawn(command, args, {
      env: { ...process.env, ...env },
      stdio: ['ignore', 'ignore', process.env['WHET_BENCH_LOGS'] ? 'inherit' : 'ignore'],
    });
    child.on('error', (error) => console.error(`${command}: ${error.message}`));
    this.children.push(child);
    return child;
  }

  /** Starts a script of this project and resolves with what it wrote when it ends well. */
  async output(script: string, args: readonly string[]): Promise<string> {
    const child = spawn(process.execPath, [script, ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
    this.children.push(child);
    let text = '';
    child.stdout.on('data', (part: Buffer) => (text += part.toString('utf8')));
    const code = await new Promise((resolve) => child.once('close', resolve));
    if (code !== 0) throw new Error(`${script} ${args.join(' ')} ended with ${String(code)}.`);
    return text;
  }

  async end(): Promise<void> {
    for (const child of this.children) child.kill('SIGTERM');
    await Promise.all(this.children.map(ended));
  }
}

/** Resolves when the process has ended. */
export async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) await new Promise((resolve) => child.once('exit', resolve));
}

/** Connects as soon as the server answers; gives up after half a minute. */
export async function connectWhenUp(address: string): Promise<Connection> {
  for (let attempt = 0; ; attempt++) {
    try {
      return await Connection.connect({ address, connectTimeout: 1_000 });
    } catch (error) {
      if (attempt === 60) throw error;
      await delay(500);
    }
  }
}

/** Resolves when something answers HTTP at the URL, whatever it says; gives up after half a minute. */
export async function untilAnswers(url: string): Promise<void> {
  for (let attempt = 0; ; attempt++) {
    try {
      await fetch(url);
      return;
    } catch (error) {
      if (attempt === 300) throw error;
      await delay(100);
    }
  }
}

/** Largest resident memory that a running process ever had, in MB. */
export async function peakRssMb(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1] ?? Number.NaN) / 1024;
}
