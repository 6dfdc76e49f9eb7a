/**
 * Three nights of the demo agent for real: every model call, training, rollout and label. The first begins without one
 * of the demo's deficits (`bench/three-nights/plant.ts`), the second finds nothing changed, and before the third the
 * desk begins to ask for what the model does not do. It takes about 15 minutes on two quiet cores. The last line is
 * JSON; `problems` in it is empty when all of this held:
 *
 * - Night 2 plays no rollout of synthesis, calibration or training, measures with at most a quarter of the rollouts
 *   that night 1 collected and of its label calls, and takes at most 120 s.
 * - Night 3 finds one capability more, that of the new deficit. It writes environments for it alone and trains its
 *   adapter alone; the adapters of night 1 are in its evaluation again, reused, by the same hashes. The comparison, all
 *   environments mixed, is trained anew: it is made of all, and there is one more. It promotes a version of adapters
 *   that it evaluated. Which of them serve is the choice of its comparison: the mixed one alone may win.
 *
 *     node dist/bench/three-nights.js [--folder FOLDER] [--seed 1]
 *
 * With --folder everything is kept there, and nights that have ended there are not repeated.
 */
import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { table } from '../cli/output';
import { projectRoot } from '../contracts/project-root';
import { writeDemoAgent } from './shared/demo-agent';
import { type DemoAnalyst, startDemoAnalyst } from './shared/demo-analyst';
import { type NightEnd, type NightFigures, readNight, servedAdapters } from './three-nights/night-figures';
import { AGENT, writeEnvironment } from './three-nights/plant';
import { inWords, problemsOf } from './three-nights/problems';

/** Variables of the caller's shell that would lead to servers, keys or a store of somebody else. */
const FOREIGN = /^(OPENAI_|TEMPORAL_|WHET_)/;
const NIGHT_LIMIT_MS = 2_400_000;

interface Installation {
  home: string;
  agent: string;
  analyst: DemoAnalyst;
  seed: number;
}

/** Runs `whet`; rejects when it fails. */
function whet({ home, analyst }: Installation, words: readonly string[]): Promise<string> {
  const own = Object.fromEntries(Object.entries(process.env).filter(([name]) => !FOREIGN.test(name)));
  const env = { ...own, WHET_HOME: home, ...analyst.variables };
  return new Promise((done, fail) => {
    const options = { env, maxBuffer: 16 << 20, timeout: NIGHT_LIMIT_MS, killSignal: 'SIGINT' } as const;
    execFile(join(projectRoot(), 'whet'), words, options, (error, stdout, stderr) => {
      if (error === null) done(stdout);
      else fail(new Error(`whet ${words.join(' ')} failed: ${stdout}\n${stderr}`));
    });
  });
}

/** One night, begun by hand and followed to its end; or what an earlier call has written down of it. */
async function playNight(installation: Installation, folder: string, night: number): Promise<NightFigures> {
  const kept = join(folder, `night-${night}.json`);
  const storeRoot = join(installation.home, 'store');
  if (existsSync(kept)) return readNight(storeRoot, JSON.parse(readFileSync(kept, 'utf8')) as NightEnd);
  writeEnvironment(folder, night === 3);
  const began = Date.now();
  const words = ['demo', installation.agent, '--seed', String(installation.seed), '--keep', '--json'];
  const { runId } = JSON.parse(await whet(installation, words)) as { runId: string };
  const seconds = (Date.now() - began) / 1000;
  const end: NightEnd = { runId, seconds, adapters: await servedAdapters(storeRoot, AGENT) };
  writeFileSync(kept, `${JSON.stringify(end, null, 2)}\n`);
  const figures = readNight(storeRoot, end);
  console.log(`night ${night}: ${figures.verdict} after ${figures.seconds.toFixed(0)} s. ${figures.sentence}`);
  return figures;
}

const rows: readonly (readonly [string, (night: NightFigures) => string | number])[] = [
  ['outcome', ({ verdict }) => verdict],
  ['version', ({ version }) => version ?? '-'],
  ['rollouts of measuring and collection', ({ measuringRollouts }) => measuringRollouts],
  ['rollouts of evaluation', ({ rollouts, measuringRollouts }) => rollouts - measuringRollouts],
  ['labels asked for', ({ labels }) => labels],
  ['environments written', ({ environmentsWritten }) => environmentsWritten],
  ['rollouts of calibration', ({ calibrationRollouts }) => calibrationRollouts],
  ['rollouts of training', ({ trainingRollouts }) => trainingRollouts],
  ['adapters trained', ({ trained }) => trained.length],
  ['adapters reused', ({ reused }) => reused.length],
  ['seconds of its stages', ({ stageSeconds }) => stageSeconds.toFixed(0)],
  ['seconds in all', ({ seconds }) => seconds.toFixed(0)],
];

async function main(): Promise<void> {
  const { values } = parseArgs({ options: { folder: { type: 'string' }, seed: { type: 'string', default: '1' } } });
  const folder = values.folder === undefined ? mkdtempSync(join(tmpdir(), 'whet-nights-')) : resolve(values.folder);
  mkdirSync(folder, { recursive: true });
  const analyst = await startDemoAnalyst(folder);
  const home = join(folder, 'home');
  const installation = { home, agent: writeDemoAgent(folder, AGENT), analyst, seed: Number(values.seed) };
  const nights: NightFigures[] = [];
  try {
    for (const night of [1, 2, 3]) nights.push(await playNight(installation, folder, night));
  } finally {
    await whet(installation, ['down']).catch((error: unknown) => console.error(error));
    await analyst.close();
    if (values.folder === undefined) rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 });
  }
  const cells = rows.map(([what, value]) => [what, ...nights.map((night) => String(value(night)))]);
  console.log(`\n${table([['', 'night 1', 'night 2', 'night 3'], ...cells])}\n`);
  for (const [i, { adapters, evaluated, trained }] of nights.entries()) {
    if (trained.length > 0) console.log(`trained in night ${i + 1}: ${trained.join(', ')}`);
    console.log(`evaluated in night ${i + 1}: ${inWords(evaluated)}`);
    console.log(`served after night ${i + 1}: ${inWords(adapters)}`);
  }
  const problems = problemsOf(nights);
  for (const problem of problems) console.log(problem);
  const figures = nights.map(({ sentence: _, ...rest }) => rest);
  console.log(JSON.stringify({ name: 'three-nights', problems, nights: figures }));
  if (problems.length > 0) process.exitCode = 1;
}

main().catch((error: unknown) => {
  console.error(error);
  process.exitCode = 1;
});
