import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { paidBy } from '../../activities/environment';
import { HttpModelClient, runRollouts, storeRollouts } from '../../activities/rollout';
import type { RolloutSummary } from '../../contracts/artifacts/trajectory';
import { projectRoot } from '../../contracts/project-root';
import { type EnvironmentSource, openEnvironment } from '../../sandbox';
import { LocalStore } from '../../store';
import { runActivity } from '../shared/identify-without-server';

const ROOT = projectRoot();
const PARTS = join(ROOT, 'bench', 'captured-tokens');
const DESK = join(ROOT, 'examples', 'orders-desk');
const PYTHON = process.env['WHET_PYTHON'] || join(ROOT, '.toolchain', 'venv', 'bin', 'python');
const VARIABLES = {
  ...process.env,
  PYTHONPATH: join(ROOT, 'trainer-image'),
  OMP_NUM_THREADS: '1',
  HF_HUB_OFFLINE: '1',
};

/** The orders desk, played by a program whose conversations branch, or turn by turn. */
export const DESKS: Readonly<Record<'program' | 'module', EnvironmentSource>> = {
  program: {
    plays: 'program',
    trust: 'owner',
    name: 'agent.yaml',
    agent: 'captured-tokens',
    firstSeed: 0,
    launch: {
      command: ['python3', join(PARTS, 'agent.py')],
      agentFolder: PARTS,
      folders: [DESK],
      secrets: [],
      variables: { DESK, PYTHONDONTWRITEBYTECODE: '1' },
      score: null,
      memoryPerEpisode: 64,
      seconds: { episode: 600, score: 600 },
    },
  },
  module: {
    source: readFileSync(join(DESK, 'environment.py'), 'utf8'),
    trust: 'owner',
    name: join(DESK, 'environment.py'),
    agent: 'captured-tokens',
  },
};

/** What comparing the kept tokens with the sampler's record gives. */
interface ComparedTokens {
  turns: number;
  /** Sampled ones. */
  tokens: number;
  /** Tokens that are not in both alike; of prompts, those that the chat template gives otherwise. */
  differences: number;
  /** Answers that went on in the row of an earlier one. */
  joinedTurns: number;
  /** Rows besides the first of each episode. */
  branches: number;
  /** Answers that are other tokens once they are text and tokenized again, as training would get them without ids. */
  answersTokenizedOtherwise: number;
}

/** Episodes to play and compare. */
interface ComparedEpisodes {
  environment: EnvironmentSource;
  /** Directory of the model. */
  model: string;
  episodes: number;
  concurrency: number;
  /** An empty folder for the store and the record. */
  folder: string;
}

/**
 * Plays episodes with the real policy server, which keeps a record of its own of what it samples, and compares the
 * artifact of tokens with that record. Rejects if an episode fails or a part of the measurement does.
 */
export async function compareEpisodes(
  options: ComparedEpisodes,
): Promise<ComparedTokens & { summary: RolloutSummary; seconds: number }> {
  const { model, episodes, folder } = options;
  const record = join(folder, 'record.jsonl');
  const flags = ['--model', model, '--port', '0', '--served-name', 'base', '--threads', '1'];
  const server = spawn(PYTHON, [join(PARTS, 'recording_server.py'), record, ...flags], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: VARIABLES,
  });
  const exit = once(server, 'exit');
  try {
    const [line] = (await once(createInterface(server.stdout), 'line')) as [string];
    const summary = await keptEpisodes(options, `${/http:\S+/.exec(line)?.[0] ?? ''}/v1`);
    const { tokens, trajectories, seconds } = summary;
    if (summary.failed !== undefined || tokens?.artifact === undefined || tokens.episodes !== episodes)
      throw new Error(`Not all episodes were kept: ${JSON.stringify(summary)}`);
    const files = [tokens.artifact, trajectories].map(({ key }) => join(folder, key));
    const compared = spawnSync(PYTHON, [join(PARTS, 'compare.py'), ...files, record, model], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'inherit'],
      env: VARIABLES,
    });
    if (compared.status !== 0) throw new Error('The comparison failed.');
    return { ...(JSON.parse(compared.stdout) as ComparedTokens), summary, seconds };
  } finally {
    server.kill('SIGKILL');
    await exit;
  }
}

async function keptEpisodes(
  { environment, episodes, concurrency, folder }: ComparedEpisodes,
  baseUrl: string,
): Promise<RolloutSummary> {
  const store = new LocalStore(folder);
  const client = new HttpModelClient();
  const plans = Array.from({ length: episodes }, (_, seed) => ({
    seed,
    split: 'train' as const,
    trial: 0,
    model: 'base',
    samplingSeed: 1_000_000 + 1_000 * seed,
  }));
  try {
    const [card] = await client.models(baseUrl);
    const played = {
      plans,
      environment: paidBy(environment, null),
      settings: { temperature: 1, maxTurns: 12, maxCompletionTokens: 64, successReward: 1 },
      model: {
        name: 'base',
        baseUrl,
        addressFrom: 'agent.yaml' as const,
        path: '',
        sha256: card!.weightsSha256!,
        served: { weightsSha256: card!.weightsSha256, root: card!.root, maxModelLength: card!.maxModelLength },
      },
      adapters: [],
      concurrency,
      workKey: 'work/rollouts.jsonl',
      stage: 'collect' as const,
      keepsTokens: true,
    };
    const deps = { store, openEnvironment, model: client, endpoints: { modelUrl: null } };
    const target = { directory: 'kept', name: 'episodes.jsonl', stage: 'collect' as const };
    return await runActivity(async () => storeRollouts(store, await runRollouts(deps, played), target), null);
  } finally {
    await client.close();
  }
}
