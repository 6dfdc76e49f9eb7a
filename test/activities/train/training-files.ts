/**
 * Reads what trainings of `run-1` leave in the store, and writes what the fake trainer (test/fakes/trainer.py) reads.
 */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TrainingProgress } from '../../../contracts/artifacts/training';
import type { RunFixture } from '../run-fixture';

/** Resolves when the condition holds; only jest's time limit ends the wait. */
export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await condition())) await new Promise((resolve) => setTimeout(resolve, 10));
}

/** The trainings of the test that runs. */
export class TrainingFiles {
  constructor(private readonly fixture: () => RunFixture) {}

  get folder(): string {
    return this.fixture().store.localPath('runs/run-1/training');
  }

  directory(job: string): string {
    return join(this.folder, readdirSync(this.folder).find((name) => name.startsWith(`${job}-`)) ?? 'none');
  }

  /** Folders of the packs. */
  packs(): string[] {
    return readdirSync(join(this.folder, 'packs')).map((name) => join(this.folder, 'packs', name));
  }

  /** A line for each start of a trainer with this training. */
  starts(job: string): string[] {
    return this.lines(job, 'starts.txt');
  }

  /** The numbers of the iterations; a repeated iteration is there twice. */
  iterations(job: string): number[] {
    return this.lines(job, 'progress.jsonl').map((line) => (JSON.parse(line) as TrainingProgress).iteration);
  }

  reaches(job: string, iteration: number): Promise<void> {
    return until(() => existsSync(this.folder) && this.iterations(job).includes(iteration));
  }

  /** Releases a training that the fake trainer holds (FAKE_HOLD). */
  go(job: string): void {
    writeFileSync(join(this.directory(job), 'go'), '');
  }

  /** The complete lines of a file that may be growing: text without a newline after it is not yet a line. */
  private lines(job: string, file: string): string[] {
    const path = join(this.directory(job), file);
    return existsSync(path) ? readFileSync(path, 'utf8').split('\n').slice(0, -1) : [];
  }
}
