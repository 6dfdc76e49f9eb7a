import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { IngestResult } from '../../ingest';
import { projectRoot } from '../../contracts/project-root';

/** How a process of `whet ingest` ended. */
export interface IngestRun {
  /** Null: it was killed. */
  code: number | null;
  result: IngestResult | null;
  seconds: number;
  /** Largest resident memory, in MB. */
  peakMb: number;
}

const POLL_MS = 25;

/** Runs `whet ingest` as a process of its own. @param killAfterMs kills it then; null: never. */
export async function runIngest(store: string, files: string[], killAfterMs: number | null = null): Promise<IngestRun> {
  const args = [join(projectRoot(), 'dist/cli/main.js'), 'ingest', ...files, '--agent', 'bench', '--json'];
  const started = performance.now();
  const child = spawn(process.execPath, args, {
    env: { ...process.env, WHET_STORE: store },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let [printed, peakMb] = ['', 0];
  child.stdout.setEncoding('utf8').on('data', (text: string) => (printed += text));
  const poll = setInterval(() => (peakMb = Math.max(peakMb, peakOf(child.pid))), POLL_MS);
  const kill = killAfterMs === null ? undefined : setTimeout(() => child.kill('SIGKILL'), killAfterMs);
  const code = await new Promise<number | null>((resolve, reject) => child.on('close', resolve).on('error', reject));
  clearInterval(poll);
  clearTimeout(kill);
  const result = code === 0 ? (JSON.parse(printed) as IngestResult) : null;
  return { code, result, seconds: (performance.now() - started) / 1000, peakMb };
}

/** The high-water mark of a process's memory; 0 once it has ended. */
function peakOf(pid = 0): number {
  try {
    return Number(/VmHWM:\s*(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1000;
  } catch {
    return 0;
  }
}
