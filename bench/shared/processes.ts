import { spawn, type ChildProcess } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { Connection } from '@temporalio/client';

export { freePort } from '../../cli/supervisor/ports';

/** Starts a program. Its output is thrown away, or goes to standard error when WHET_BENCH_LOGS is set. */
export function startProcess(command: string, args: readonly string[], env: NodeJS.ProcessEnv = {}): ChildProcess {
  const output = process.env['WHET_BENCH_LOGS'] ? process.stderr : 'ignore';
  const child = spawn(command, args, { env: { ...process.env, ...env }, stdio: ['ignore', output, output] });
  child.on('error', (error) => console.error(`${command}: ${error.message}`));
  return child;
}

/** Child processes of a measurement; `end` stops those that still run. */
export class Processes {
  private readonly children: ChildProcess[] = [];

  /** As startProcess. */
  start(command: string, args: readonly string[], env: NodeJS.ProcessEnv = {}): ChildProcess {
    const child = startProcess(command, args, env);
    this.children.push(child);
    return child;
  }

  /** Runs a script of this project, and resolves with its standard output. Rejects when it ends with an error. */
  async output(script: string, args: readonly string[]): Promise<string> {
    const child = spawn(process.execPath, [script, ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
    this.children.push(child);
    let text = '';
    child.stdout.on('data', (part: Buffer) => (text += part.toString('utf8')));
    const code = await new Promise((resolve) => child.once('close', resolve));
    if (code !== 0) throw new Error(`${script} ${args.join(' ')} ended with ${String(code)}.`);
    return text;
  }

  /** Sends SIGTERM to all, and resolves when all have ended. */
  async end(): Promise<void> {
    for (const child of this.children) child.kill('SIGTERM');
    await Promise.all(this.children.map(ended));
  }
}

/** Resolves when the process has ended. */
export async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) await new Promise((resolve) => child.once('exit', resolve));
}

/** Connects to Temporal as soon as it answers. Rejects after half a minute. */
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

/** Resolves when a GET of the URL answers with status 200. Rejects after `limitSeconds`. */
export async function untilHealthy(url: string, limitSeconds: number): Promise<void> {
  const deadline = Date.now() + limitSeconds * 1000;
  for (;;) {
    const response = await fetch(url, { signal: AbortSignal.timeout(2_000) }).catch(() => null);
    await response?.arrayBuffer();
    if (response?.ok === true) return;
    if (Date.now() > deadline) throw new Error(`${url} does not answer after ${limitSeconds} s.`);
    await delay(100);
  }
}

/** Resolves when the URL answers a GET, with any status. Rejects after half a minute. */
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
