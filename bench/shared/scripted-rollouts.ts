/** Plays given moves through `runRollouts`, for comparisons of an environment with the runner of its own package. */
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { paidBy } from '../../activities/environment';
import { loadRollouts, runRollouts, scriptedModel } from '../../activities/rollout';
import type { EnvironmentMove } from '../../contracts/messages/environment-protocol';
import { projectRoot } from '../../contracts/project-root';
import { parseAgentSpec } from '../../loaders/agent-spec';
import { ownerEnvironment } from '../../loaders/owner-environment';
import { type EnvironmentSource, openEnvironment } from '../../sandbox';
import { LocalStore } from '../../store';
import { runActivity } from './identify-without-server';

/** A sampling seed is a task's seed times this, so that a request for a model says whose turn it is. */
const TURNS = 1000;
/** More turns than the packages allow. */
const MAX_TURNS = 200;

function outputOf(command: string, words: string[], env: Record<string, string> = {}): string {
  const { status, stdout } = spawnSync(command, words, {
    encoding: 'utf8',
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
    maxBuffer: 1 << 28,
  });
  if (status !== 0) throw new Error(`${[command, ...words].join(' ')} ended with code ${status}.`);
  return stdout;
}

/** The lines that a script of a benchmark prints, each a JSON document. @throws Error if it fails. */
export function jsonLines(command: string, words: string[], env: Record<string, string> = {}): unknown[] {
  return outputOf(command, words, env)
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as unknown);
}

/** The virtual environment of a target, which is installed if it is not there. @param given a path instead. */
export function venvOf(target: string, given: string | undefined): string {
  if (given !== undefined) return resolve(given);
  const added = outputOf(join(projectRoot(), 'whet'), ['env', 'add', target, '--json']);
  return (JSON.parse(added) as { venv: string }).venv;
}

/** Calls `use` with a new folder that the user of the jail may read, and removes it. */
export async function inFolder<Result>(use: (folder: string) => Promise<Result>): Promise<Result> {
  const folder = mkdtempSync(join(tmpdir(), 'whet-bench-'));
  chmodSync(folder, 0o755);
  try {
    return await use(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * The environment of an agent.yaml, which is written into `folder`.
 * @param section `environment`.
 * @param tasks their ids; the place of one is its seed.
 */
export function environmentOf(section: object, tasks: readonly string[], folder: string): EnvironmentSource {
  const file = join(folder, 'agent.yaml');
  const model = { name: 'script', baseUrl: 'http://script.invalid/v1' };
  // JSON is YAML.
  writeFileSync(file, JSON.stringify({ version: 1, name: 'bench', environment: section, model }));
  const named = tasks.map((id) => ({ id, split: 'train', range: 'train' as const }));
  return ownerEnvironment(parseAgentSpec(file), file, named).source;
}

/** Whether the conversation came to its end; a failed episode has no reward. */
const isOver = (finish: string): boolean => ['done', 'turn-limit', 'no-tool-call'].includes(finish);

/**
 * The reward of each task by `runRollouts`; null for an episode that failed.
 * @param moves of each task; the last one is played until the episode is over.
 * @param work folder of the rollouts.
 */
export async function scriptedRewards(
  environment: EnvironmentSource,
  { moves, work, concurrency }: { moves: readonly (readonly EnvironmentMove[])[]; work: string; concurrency: number },
): Promise<(number | null)[]> {
  // The request's seed says of which task, and which turn.
  const script = scriptedModel(({ seed }) => {
    const ofTask = moves[Math.floor(seed / TURNS)]!;
    return ofTask[Math.min(seed % TURNS, ofTask.length - 1)]!;
  });
  const deps = { store: new LocalStore(work), openEnvironment, model: script.client, endpoints: { modelUrl: null } };
  const { trajectories } = await runActivity(
    async (plans: { seed: number; samplingSeed: number }[]) =>
      loadRollouts(
        await runRollouts(deps, {
          plans: plans.map((plan) => ({ ...plan, split: 'train' as const, trial: 0, model: script.model.name })),
          environment: paidBy(environment, null),
          settings: { temperature: 0, maxTurns: MAX_TURNS, maxCompletionTokens: 4096, successReward: 1 },
          model: script.model,
          adapters: [],
          concurrency,
          workKey: 'bench/rollouts.jsonl',
          stage: 'collect',
        }),
      ),
    moves.map((_, seed) => ({ seed, samplingSeed: seed * TURNS })),
  );
  const rewards = new Map(trajectories.map(({ task, finish, reward }) => [task.seed, isOver(finish) ? reward : null]));
  return moves.map((_, seed) => rewards.get(seed) ?? null);
}
