/**
 * Whether the tokens that are kept of episodes are those that the model sampled. Programs play the orders desk through
 * the capture endpoint, streaming, retrying and with sub-agents; the policy server keeps a record of its own of what
 * its sampler returns. The last line is JSON.
 *
 *     node dist/bench/captured-tokens.js [--episodes 1000] [--model DIR] [--concurrency 8] [--kind program]
 *
 * Without --model it is the demo's, which is trained the first time. `--kind module` plays the desk turn by turn.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { compareEpisodes, DESKS } from './captured-tokens/compare-episodes';
import { trainModel } from './shared/demo-model';

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      episodes: { type: 'string', default: '1000' },
      model: { type: 'string' },
      concurrency: { type: 'string', default: '8' },
      kind: { type: 'string', default: 'program' },
    },
  });
  const environment = DESKS[values.kind as keyof typeof DESKS];
  if (environment === undefined) throw new Error(`--kind must be ${Object.keys(DESKS).join(' or ')}.`);
  const model = values.model ?? (await trainModel(1, 'demo', join(homedir(), '.cache', 'whetstone', 'models')));
  // What is measured has nothing to do with the jail.
  process.env['WHET_UNJAILED_ENVIRONMENTS'] = environment.agent!;
  const folder = mkdtempSync(join(tmpdir(), 'whet-captured-tokens-'));
  try {
    const episodes = Number(values.episodes);
    const concurrency = Number(values.concurrency);
    const { summary, seconds, ...compared } = await compareEpisodes({
      environment,
      model,
      episodes,
      concurrency,
      folder,
    });
    console.log(`${episodes} episodes in ${seconds} s, ${summary.successes} successes`);
    const { bytes } = summary.tokens!.artifact!;
    console.log(JSON.stringify({ name: 'captured-tokens', episodes, ...compared, bytes }));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

main().catch((error: unknown) => {
  console.error(error);
  process.exitCode = 1;
});
