/**
 * Plays the gold actions of every task of tau2-bench, and an agent that does nothing, through `runRollouts` and the
 * kind `tau2`, and compares each reward with what tau2's own orchestrator and evaluator give. The first time it
 * installs tau2 (`whet env add tau2`, 1 GB). The last line is JSON.
 *
 *     node dist/bench/tau2-gold.js [--domains airline,retail,telecom] [--venv DIR] [--concurrency 16]
 */
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { NEUTRAL_SENTENCE } from '../activities/rollout';
import type { EnvironmentMove } from '../contracts/messages/environment-protocol';
import { projectRoot } from '../contracts/project-root';
import { type EnvironmentSource, openEnvironment } from '../sandbox';
import { environmentOf, inFolder, jsonLines, scriptedRewards, venvOf } from './shared/scripted-rollouts';

/** What tau2 itself gives for a task. */
interface OwnRewards {
  task: string;
  gold: number;
  nothing: number;
}
type Agent = keyof Omit<OwnRewards, 'task'>;

const USERS: Record<Agent, string> = { gold: 'gold', nothing: 'leaves' };

function ownRewards(venv: string, domain: string): OwnRewards[] {
  const script = join(projectRoot(), 'bench', 'tau2-gold', 'own_rewards.py');
  const variables = { PYTHONPATH: join(projectRoot(), 'targets') };
  return jsonLines(join(venv, 'bin', 'python'), [script, domain], variables) as OwnRewards[];
}

async function movesOf(agent: Agent, environment: EnvironmentSource, tasks: string[]): Promise<EnvironmentMove[][]> {
  if (agent === 'nothing') return tasks.map(() => [{ text: NEUTRAL_SENTENCE }]);
  const opened = await openEnvironment(environment);
  const moves = await Promise.all(tasks.map((_task, seed) => opened.reference(seed)));
  await opened.close();
  return moves;
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      domains: { type: 'string', default: 'airline,retail,telecom' },
      venv: { type: 'string' },
      concurrency: { type: 'string', default: '16' },
    },
  });
  const venv = venvOf('tau2', values.venv);
  const concurrency = Number(values.concurrency);
  const domains: Record<string, { tasks: number; goldAgree: number; nopAgree: number }> = {};
  await inFolder(async (folder) => {
    for (const domain of values.domains.split(',')) {
      const own = ownRewards(venv, domain);
      const tasks = own.map(({ task }) => task);
      const agree: Record<Agent, number> = { gold: 0, nothing: 0 };
      for (const agent of Object.keys(agree) as Agent[]) {
        const began = Date.now();
        const section = { kind: 'tau2', venv, domain, user: { script: USERS[agent] } };
        const environment = environmentOf(section, tasks, folder);
        const moves = await movesOf(agent, environment, tasks);
        const work = join(folder, `${domain}-${agent}`);
        const rewards = await scriptedRewards(environment, { moves, work, concurrency });
        for (const [seed, rewarded] of own.entries()) {
          if (rewards[seed] === rewarded[agent]) agree[agent]++;
          else console.log(`${domain} ${rewarded.task}, ${agent}: ${rewards[seed]}, by tau2 ${rewarded[agent]}`);
        }
        const passed = rewards.filter((reward) => reward === 1).length;
        const seconds = ((Date.now() - began) / 1000).toFixed(1);
        console.log(`${domain}, ${agent}: ${agree[agent]} of ${tasks.length} agree, ${passed} passed, ${seconds} s`);
      }
      domains[domain] = { tasks: tasks.length, goldAgree: agree.gold, nopAgree: agree.nothing };
    }
  });
  console.log(JSON.stringify({ name: 'tau2-gold', domains }));
}

main().catch((error: unknown) => {
  console.error(error);
  process.exitCode = 1;
});
