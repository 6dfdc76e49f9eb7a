import { spawn } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { EnvironmentCheck } from '../../contracts/artifacts/environment-check';
import type { EnvironmentToolLine } from '../../contracts/messages/environment-tool';
import { projectRoot } from '../../contracts/project-root';
import { textLines } from '../../contracts/text-lines';
import type { Fixture } from './fixtures';

/** What one check said about one fixture. */
export interface CheckRun {
  check: EnvironmentCheck;
  seconds: number;
}

/** What all checks said about one fixture. */
export interface FixtureRun {
  fixture: Fixture;
  runs: CheckRun[];
  /** Why it could not be checked at all; null when it was. */
  error: string | null;
  /** Until the checks began: the process's start and the target's profile. */
  startSeconds: number;
}

/** Makes every check that needs no model, as `whet env check` does. `folder` takes the source without its head. */
export async function checkFixture(fixture: Fixture, folder: string): Promise<FixtureRun> {
  const file = join(folder, `${fixture.name}.py`);
  await writeFile(file, fixture.source);
  const script = join(projectRoot(), 'dist', 'environment-tool', 'main.js');
  let last = performance.now();
  const lap = () => {
    const seconds = (performance.now() - last) / 1000;
    last = performance.now();
    return seconds;
  };
  const child = spawn(process.execPath, [script, 'check', file, fixture.agent], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = new Promise<number | null>((done) => child.once('close', done));
  const run: FixtureRun = { fixture, runs: [], error: null, startSeconds: 0 };
  let whole = false;
  for await (const text of textLines(child.stdout)) {
    const line = JSON.parse(text) as EnvironmentToolLine;
    if (line.type === 'check') {
      const seconds = lap();
      // The first check is made at once; the time before it was the start.
      if (run.runs.length === 0) run.startSeconds = seconds;
      run.runs.push({ check: line.check, seconds: run.runs.length === 0 ? 0 : seconds });
    }
    if (line.type === 'certificate') whole = true;
    if (line.type === 'error') run.error = line.message;
  }
  const code = await ended;
  if (!whole) run.error ??= `The checks ended with code ${String(code)}.`;
  return run;
}
