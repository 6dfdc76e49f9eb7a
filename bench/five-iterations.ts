/**
 * The five-iterations attack for real: in the state directory of a finished demo run with an active version, the same
 * agent is run again with `training.iterations: 5`, and trainings begin from zero. The active version must not be
 * replaced. It changes the state directory, so give it a copy. Not a measurement of minutes only: the run trains. The
 * last line is JSON; exit code 1 when the version was replaced, and when there was no candidate (`compared`: false): a
 * night that finds nothing to sharpen ends before, and then the gate was not tried.
 *
 *     node dist/bench/five-iterations.js --home COPY_OF_HOME [--agent examples/orders-desk/agent.yaml] [--seed 1]
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { parse, stringify } from 'yaml';
import { projectRoot } from '../contracts/project-root';
import { loadAgentSpec } from '../loaders/agent-spec';
import { LocalStore, readRegistry } from '../store';
import { startDemoAnalyst } from './shared/demo-analyst';
import { isCompared, problemsOf } from './five-iterations/read-attack';
import { storedRun } from './worlds/finished-run';

const ITERATIONS = 5;
/** A night plays a quarter of them: with fewer it would not see what is lacking, and train nothing. */
const TRAIN_SEEDS = { start: 0, count: 1_200 };

/** The agent with fewer iterations, elsewhere: its paths become absolute. */
function writeBriefAgent(agentPath: string, folder: string): string {
  const agent = parse(readFileSync(agentPath, 'utf8')) as Record<string, Record<string, unknown>>;
  const absolute = (section: string, name: string) => {
    const value = agent[section]?.[name];
    return typeof value === 'string' ? { [name]: resolve(dirname(agentPath), value) } : {};
  };
  const brief = {
    ...agent,
    environment: { ...agent['environment'], ...absolute('environment', 'path'), trainSeeds: TRAIN_SEEDS },
    model: { ...agent['model'], ...absolute('model', 'recipe'), ...absolute('model', 'path') },
    training: { ...agent['training'], iterations: ITERATIONS, warmStart: false },
  };
  const path = join(folder, 'agent.yaml');
  writeFileSync(path, stringify(brief));
  return path;
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      home: { type: 'string' },
      agent: { type: 'string', default: 'examples/orders-desk/agent.yaml' },
      seed: { type: 'string', default: '1' },
    },
  });
  if (values.home === undefined)
    throw new RangeError('--home is missing: a copy of the state directory of a demo run.');
  const home = resolve(values.home);
  const seed = Number(values.seed);
  const { name } = loadAgentSpec(resolve(values.agent));
  const store = new LocalStore(join(home, 'store'));
  const before = (await readRegistry(store, name)).active;
  const first = await storedRun({ home, seed });
  if (before === null || first === null)
    throw new Error(`${name} has no active version, or no finished run with seed ${seed}, in ${home}: run make demo.`);
  const folder = mkdtempSync(join(tmpdir(), 'whet-five-'));
  const analyst = await startDemoAnalyst(home);
  try {
    const words = ['demo', writeBriefAgent(resolve(values.agent), folder), '--seed', String(seed)];
    const env = { ...process.env, WHET_HOME: home, ...analyst.variables };
    const run = spawn(join(projectRoot(), 'whet'), words, { env, stdio: ['ignore', 'inherit', 'inherit'] });
    const [code] = (await once(run, 'close')) as [number | null];
    const last = await storedRun({ home, seed });
    if (last === null || last.report.runId === first.report.runId)
      throw new Error(`The run ended with code ${String(code)} and without a report.`);
    const attack = { before, after: (await readRegistry(store, name)).active, report: last.report };
    const problems = problemsOf(attack);
    const { runId, verdict } = last.report;
    console.log(
      JSON.stringify({
        ...{ name: 'five-iterations', problems, compared: isCompared(attack), verdict, runId },
        ...{ before, after: attack.after },
      }),
    );
    if (problems.length > 0) process.exitCode = 1;
  } finally {
    await analyst.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

if (require.main === module)
  main().catch((error: unknown) => {
    console.error(error);
    process.exitCode = 1;
  });
