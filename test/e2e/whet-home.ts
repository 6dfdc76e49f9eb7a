/** The built `whet` as a user starts it, in a state directory of its own. */
import { execFile, type ExecFileException } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Report, reportSchema } from '../../contracts/artifacts/report';
import type { ImprovementRunResult } from '../../contracts/messages/run';

export const ROOT = join(__dirname, '..', '..');
/** Models that tests of several files use, by the hash of their recipe. The first that needs one makes it. */
const MODELS = join(ROOT, 'node_modules', '.cache', 'whetstone', 'models');

export interface Finished {
  code: number;
  stdout: string;
  stderr: string;
}

/** A state directory of its own with `whet` in it, at free ports. */
export class WhetHome {
  readonly home = mkdtempSync(join(tmpdir(), 'whet-e2e-'));

  constructor() {
    mkdirSync(MODELS, { recursive: true });
    symlinkSync(MODELS, join(this.home, 'models'));
  }

  readonly whet = (...words: string[]): Promise<Finished> => this.whetWith({}, ...words);

  /** Runs `whet` with more variables in its environment. */
  readonly whetWith = (variables: Record<string, string>, ...words: string[]): Promise<Finished> =>
    new Promise((resolve) => {
      execFile(
        join(ROOT, 'whet'),
        words,
        { env: { ...this.environment(), ...variables }, maxBuffer: 16 << 20 },
        (error: ExecFileException | null, stdout, stderr) => {
          resolve({ code: error === null ? 0 : Number(error.code ?? -1), stdout, stderr });
        },
      );
    });

  /** Stops what is up, and removes the state directory. */
  readonly dispose = async (): Promise<void> => {
    await this.whet('down');
    rmSync(this.home, { recursive: true, force: true });
  };

  /** Runs `whet demo` to its end and reads its report. Rejects when it fails. */
  readonly demo = async (
    agent: string,
    ...options: string[]
  ): Promise<{ result: ImprovementRunResult; report: Report }> => {
    if (!existsSync(join(ROOT, 'dist', 'cli', 'main.js'))) throw new Error('Not built: run `make build` first.');
    const ended = await this.whet('demo', agent, ...options, '--json');
    if (ended.code !== 0) throw new Error(`whet demo ended with ${ended.code}:\n${ended.stdout}\n${ended.stderr}`);
    const result = JSON.parse(ended.stdout) as ImprovementRunResult;
    const report = reportSchema.parse(JSON.parse(readFileSync(join(result.reportDirectory!, 'report.json'), 'utf8')));
    return { result, report };
  };

  /** As a stranger's shell has it: no key of the developer's, no server of theirs. */
  private environment(): NodeJS.ProcessEnv {
    const env: NodeJS.ProcessEnv = { ...process.env, WHET_HOME: this.home };
    for (const name of ['OPENAI_API_KEY', 'OPENAI_BASE_URL', 'WHET_ANALYST_MODEL', 'TEMPORAL_ADDRESS', 'WHET_STORE'])
      delete env[name];
    return env;
  }
}
