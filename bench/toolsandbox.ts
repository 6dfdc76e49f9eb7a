/**
 * Plays the base scenarios of ToolSandbox that need no network, with an agent that does what their milestones name and
 * with one that does nothing, through `runRollouts` and the kind `toolsandbox`. Compares each reward with the
 * similarity that ToolSandbox's own `Scenario.play` and evaluation give for the same moves. The first time it installs
 * what ToolSandbox needs (`whet env add toolsandbox`). The last line is JSON.
 *
 *     CLONE=DIR node dist/bench/toolsandbox.js [--venv DIR] [--processes 2]
 */
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import type { EnvironmentMove } from '../contracts/messages/environment-protocol';
import { projectRoot } from '../contracts/project-root';
import { environmentOf, inFolder, jsonLines, scriptedRewards, venvOf } from './shared/scripted-rollouts';

/** What ToolSandbox itself gives for a scenario. */
interface OwnSimilarities {
  task: string;
  moves: EnvironmentMove[];
  script: number;
  nothing: number;
}

const AGENTS = ['script', 'nothing'] as const;

const mean = (values: readonly (number | null)[]): number =>
  values.reduce<number>((sum, value) => sum + (value ?? 0), 0) / values.length;

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: { venv: { type: 'string' }, processes: { type: 'string', default: '2' } },
  });
  const { CLONE } = process.env;
  if (!CLONE) throw new Error('CLONE must name the folder of a clone of github.com/apple/ToolSandbox.');
  const clone = resolve(CLONE);
  const venv = venvOf('toolsandbox', values.venv);
  const script = join(projectRoot(), 'bench', 'toolsandbox', 'own_similarities.py');
  const own = jsonLines(join(venv, 'bin', 'python'), [script], { PYTHONPATH: clone }) as OwnSimilarities[];
  const tasks = own.map(({ task }) => task);
  const processes = Number(values.processes);
  const found: Record<string, { agree: number; perfect: number; meanSimilarity: number }> = {};
  await inFolder(async (folder) => {
    const user = { script: 'leaves' };
    const section = { kind: 'toolsandbox', venv, clone, user, scenarios: 'base', processes };
    const environment = environmentOf(section, tasks, folder);
    for (const agent of AGENTS) {
      const began = Date.now();
      const moves = own.map((scenario) => (agent === 'script' ? scenario.moves : [{ text: 'Anything else?' }]));
      const rewards = await scriptedRewards(environment, { moves, work: join(folder, agent), concurrency: processes });
      const differ = own.flatMap((scenario, seed) => (rewards[seed] === scenario[agent] ? [] : [seed]));
      for (const seed of differ)
        console.log(`${tasks[seed]}, ${agent}: ${rewards[seed]}, by itself ${own[seed]![agent]}`);
      const perfect = rewards.filter((reward) => reward === 1).length;
      found[agent] = { agree: tasks.length - differ.length, perfect, meanSimilarity: mean(rewards) };
      console.log(`${agent}: ${found[agent].agree} of ${tasks.length} agree, ${(Date.now() - began) / 1000} s`);
    }
  });
  console.log(JSON.stringify({ name: 'toolsandbox', scenarios: tasks.length, ...found }));
}

main().catch((error: unknown) => {
  console.error(error);
  process.exitCode = 1;
});
