/**
 * `make figures NAME=gate [ARGS='--comparison 2']`: runs a bench and writes its rows of docs/measured.md again, with
 * today's date, this machine and this commit. Exits with the bench's code: figures that miss a limit are written too.
 */
import { execFileSync, spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { cpus, loadavg } from 'node:os';
import { join } from 'node:path';
import { projectRoot } from '../contracts/project-root';
import { figuresOf, updatedPage } from './measured-page';
import { MEASURED_ROWS } from './measured-rows';

const PAGE = join(projectRoot(), 'docs', 'measured.md');

const git = (...args: string[]): string =>
  execFileSync('git', args, { cwd: projectRoot(), encoding: 'utf8' }).trimEnd();

/** Runs a bench, whose output is shown, and returns its last line with its exit code. */
async function runBench(name: string, args: readonly string[]): Promise<{ last: string; code: number }> {
  const bench = spawn(join(projectRoot(), 'scripts', 'bench.sh'), [name, ...args], {
    cwd: projectRoot(),
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let text = '';
  bench.stdout.setEncoding('utf8').on('data', (piece: string) => {
    text += piece;
    process.stdout.write(piece);
  });
  const code = await new Promise<number>((resolve, reject) =>
    bench.once('error', reject).once('close', (ended) => resolve(ended ?? 1)),
  );
  return { last: text.trimEnd().split('\n').at(-1) ?? '', code };
}

async function main([name = '', ...args]: readonly string[]): Promise<number> {
  const templates = MEASURED_ROWS[name];
  if (templates === undefined) {
    console.error(`figures: no row comes from ${JSON.stringify(name)}. NAME=${Object.keys(MEASURED_ROWS).join(', ')}`);
    return 2;
  }
  const load = loadavg()[0]!.toFixed(1);
  const { last, code } = await runBench(name, args);
  if (!last.startsWith('{')) {
    console.error(`figures: ${name} ended with code ${code} and without a result; nothing was written.`);
    return code || 1;
  }
  const changes = git('status', '--porcelain', '--', '.', ':!docs/measured.md') === '' ? '' : ' with changes';
  const { page, missing } = updatedPage(readFileSync(PAGE, 'utf8'), figuresOf(templates, JSON.parse(last)), {
    command: args.length === 0 ? `\`make bench NAME=${name}\`` : `\`scripts/bench.sh ${[name, ...args].join(' ')}\``,
    date: new Date().toLocaleDateString('en-GB', { day: 'numeric', month: 'long', year: 'numeric' }),
    machine: `${cpus().length} cores, ${cpus()[0]?.model.trim() || 'unknown processor'}, load ${load}`,
    commit: `${git('rev-parse', '--short=8', 'HEAD')}${changes}`,
  });
  writeFileSync(PAGE, page);
  console.error(`figures: docs/measured.md has the figures of ${name}`);
  if (missing.length > 0) console.error(`figures: it has no row for ${missing.join(', ')}: not written`);
  return code;
}

void main(process.argv.slice(2)).then((code) => (process.exitCode = code));
