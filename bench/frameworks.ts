/**
 * Plays the orders desk natively and as agents of frameworks, with the demo model and the same seeds, and compares
 * trajectories, pass rates and cost. The packages must be installed (`scripts/install-frameworks.sh`). The last line is
 * JSON.
 *
 *     node dist/bench/frameworks.js [--agents langgraph,openai-agents,ai-sdk,program] [--seeds 60] [--at-once 2]
 */
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { isDeepStrictEqual, parseArgs } from 'node:util';
import { paidBy } from '../activities/environment';
import { inParallel } from '../activities/in-parallel';
import { systemClock } from '../activities/clock';
import { HttpModelClient, PolicyModel } from '../activities/rollout';
import { EnvironmentPlayer, type EpisodePlayer } from '../activities/rollout/player';
import { ProgramPlayer } from '../activities/rollout/program/program-player';
import { bootstrapMean } from '../activities/statistics/bootstrap';
import { mean } from '../activities/statistics/mean';
import type { Trajectory } from '../contracts/artifacts/trajectory';
import { projectRoot } from '../contracts/project-root';
import { loadAgentSpec } from '../loaders/agent-spec';
import { ownerEnvironment } from '../loaders/owner-environment';
import { launchProgram, openEnvironment, type ProgramSource } from '../sandbox';
import { modelDirectorySha256 } from '../store/model-hash';
import { DESK, trainModel, withModel } from './shared/demo-model';
import { percentile } from './shared/percentile';

const SETTINGS = { temperature: 1, maxTurns: 12, maxCompletionTokens: 64, successReward: 1 };
/** Seeds of held-out tasks. */
const FIRST_SEED = 1_000_000;

const { values } = parseArgs({
  options: {
    agents: { type: 'string', default: 'langgraph,openai-agents,ai-sdk,program' },
    seeds: { type: 'string', default: '60' },
    'at-once': { type: 'string', default: '2' },
    cache: { type: 'string', default: join(homedir(), '.cache/whetstone/models') },
  },
});
const seeds = Array.from({ length: Number(values.seeds) }, (_, place) => FIRST_SEED + place);

/** The program of an agent.yaml, which also says what it used. */
function measuredProgram(agent: string): ProgramSource {
  const path = join(DESK, `agent.${agent}.yaml`);
  const { source } = ownerEnvironment(loadAgentSpec(path), path);
  if (source.plays !== 'program') throw new Error(`${path} is no program.`);
  const { command, launch } = { command: [...source.launch.command], launch: source.launch };
  const measure = join(projectRoot(), 'bench', 'frameworks');
  const folders = [...launch.folders, measure];
  if (command[0] === 'node') {
    // The Node that runs this, which the jail has to see.
    command[0] = process.execPath;
    folders.push(dirname(dirname(process.execPath)));
  }
  return { ...source, launch: { ...launch, command: ['python3', join(measure, 'measured.py'), ...command], folders } };
}

async function play(player: EpisodePlayer, name: string): Promise<Trajectory[]> {
  const { signal } = new AbortController();
  const played: Trajectory[] = [];
  await inParallel(seeds, Number(values['at-once']), { signal }, async (seed) => {
    const place = { seed, split: 'held-out' as const, trial: 0, model: 'base', samplingSeed: 100 * seed };
    played[seed - FIRST_SEED] = await player.play(place, `${name}-${seed}`);
  });
  await player.close();
  return played;
}

const rate = (played: readonly Trajectory[]): number => mean(played.map(({ success }) => Number(success)));

/** What the episodes of an agent were like, beside the native ones. */
function compared(native: readonly Trajectory[], measured: readonly Trajectory[]) {
  const used = measured.map(({ tags }) => tags.slice(-2).map(Number));
  const plain = measured.map((one) => ({ ...one, tags: one.tags.slice(0, -2) }));
  const failed = plain.filter(({ failedBecause }) => failedBecause !== undefined).length;
  const pairs = native.flatMap((one, place) =>
    plain[place]!.failedBecause === undefined ? [Number(plain[place]!.success) - Number(one.success)] : [],
  );
  return {
    episodes: plain.length,
    equal: native.filter((one, place) => isDeepStrictEqual(JSON.parse(JSON.stringify(one)), plain[place])).length,
    branched: plain.filter(({ branches }) => branches !== undefined).length,
    failed,
    passRate: rate(plain),
    minusNative: bootstrapMean(pairs, [-1, 1], { samples: 10_000, confidence: 0.95, seed: 1 }),
    processorSeconds: percentile(
      used.map(([seconds]) => seconds!),
      0.5,
    ),
    memoryMiB: Math.max(...used.map(([, memory]) => memory!)),
  };
}

async function measure(baseUrl: string, path: string) {
  const served = { weightsSha256: null, root: null, maxModelLength: null };
  const sha256 = await modelDirectorySha256(path);
  const model = { name: 'base', baseUrl, addressFrom: 'agent.yaml' as const, path, sha256, served };
  const client = new HttpModelClient();
  const abort = new AbortController();
  const policy = new PolicyModel({
    ...{ client, clock: systemClock, model, concurrency: 64, adapters: [], signal: abort.signal },
  });
  const note = (words: unknown) => void console.error(String(words));
  const shared = { settings: SETTINGS, chat: policy.chat.bind(policy), onTaskFailure: note, onRefusal: note };
  const file = join(DESK, 'agent.yaml');
  const environment = paidBy(ownerEnvironment(loadAgentSpec(file), join(DESK, 'environment.py')).source, null);
  const quiet = { toleratesFaults: false, onFault: note };
  const native = await play(new EnvironmentPlayer({ openEnvironment, environment, ...shared, ...quiet }), 'native');
  const agents: Record<string, object> = {};
  for (const agent of values.agents.split(',')) {
    const program = { environment: measuredProgram(agent), launch: launchProgram, set: agent, onNote: note };
    agents[agent] = compared(native, await play(new ProgramPlayer({ ...shared, ...program }), agent));
    console.error(agent, JSON.stringify(agents[agent]));
  }
  await client.close();
  return { name: 'frameworks', native: { episodes: native.length, passRate: rate(native) }, agents };
}

async function main(): Promise<void> {
  const path = await trainModel(1, 'demo', values.cache);
  console.log(JSON.stringify(await withModel(path, 'base', (url) => measure(url, path))));
}

void main();
