import {
  type AnalystUse,
  parseAnalystUse,
  BATCH_PRICE,
  dollarsFor,
  pricesOf,
  withLost,
} from '../contracts/artifacts/analyst-use';
import {
  dollarsForEnvironment,
  type EnvironmentUse,
  parseEnvironmentUse,
  sumOfStages,
} from '../contracts/artifacts/environment-use';
import { commandOf, isPlayable } from '../contracts/config/environment-kinds';
import { confidenceOfComparison } from '../contracts/statistics/error-spending';
import { minimumDetectableGain, unknownAgent } from '../contracts/statistics/minimum-detectable-gain';
import { heldOutSize, type HeldOutSize } from '../contracts/statistics/held-out-size';
import { rarestNeed } from '../contracts/statistics/rarest-need';
import { plannedTrials } from '../contracts/statistics/planned-trials';
import type { AgentSpec } from '../contracts/config/agent-spec';
import type { RunEnd, StageName } from '../contracts/names';
import { DISCOVERY_SUCCESSES } from '../contracts/limits';
import { layout, type ArtifactStore } from '../store';

/** The calls of one stage to one model, with their expected tokens. */
interface StageEstimate {
  stage: string;
  what: string;
  calls: number;
  promptTokens: number;
  /** Prompt tokens from the endpoint's prefix cache, if it has one. */
  cachedTokens: number;
  completionTokens: number;
  /** Null: agent.yaml has no prices, or the calls go to the agent's own model. */
  usd: number | null;
}

/** The expected needs of a run, before it is started. */
export interface RunEstimate {
  stages: StageEstimate[];
  /** Upper limit of the analyst's tokens: every labelling run, candidate and attempt that agent.yaml allows. */
  tokens: number;
  usd: number | null;
  /** Upper limit of what simulated users and judges spend; null: the environment is a Python class without them. */
  environment: { episodes: number; tokens: number; usd: number | null } | null;
  /** The last run's use of the analyst, as the best guess for the next; null if there is none. */
  expectedTokens: number | null;
  /**
   * Smallest true gain over base that the evaluation proves in four of five cases, for any agent. In [0, 1]. The plan
   * adds trials only until the wanted gain can be proved. Null: nothing is played.
   */
  minimumDetectableGain: number | null;
  /** The rarest need that is found in four of five cases, as a share of the tasks; null if none is. */
  rarestNeed: number | null;
  /** The source of the sizes of calls. */
  basis: string;
}

/** Mean tokens of a call. */
interface CallSize {
  promptTokens: number;
  cachedTokens: number;
  completionTokens: number;
}

/**
 * Assumed sizes in tokens: the text around the episode in a label prompt, a turn of an episode, an answer. They are
 * rough, and the estimate says so.
 */
const AROUND_TOKENS = 450;
const TURN_TOKENS = 150;
const ANSWER_TOKENS = { discover: 900, label: 80, synthesise: 3_000 };
/** Episodes in one prompt of the second reader. */
const EPISODES_READ = 10;
/** Assumed size in tokens of a synthesis prompt with rules, tools and a few episodes. */
const SYNTHESIS_TOKENS = 12_000;

/** Stages of a run that ends after identification. */
const BEFORE_TRAINING: readonly string[] = ['collect', 'identify'] satisfies StageName[];

/** Before a run, so many of the tasks without a certain need are assumed to fail. */
export const ASSUMED_OTHER_RISK = 0.3;

type Kind = 'discover' | 'label' | 'synthesise' | 'read';

/**
 * The mean size of each kind of analyst call, and all tokens, in the agent's last run. Only runs in this store with
 * labels count. Empty if there is none. `identifyTokens`: those of its identification. `episode`: what an episode's
 * simulated user and judge spent in it; null: that run does not know.
 */
export async function readLastCallSizes(
  store: ArtifactStore,
  agent: string,
): Promise<{
  runId: string | null;
  sizes: Partial<Record<Kind, CallSize>>;
  tokens: number | null;
  identifyTokens: number | null;
  episode: CallSize | null;
}> {
  const runs = (await store.list('runs')).filter((name) => name.startsWith(`run-${agent}-`)).reverse();
  for (const runId of runs) {
    const uses = await readUses(store, layout.analystUse(runId), parseAnalystUse);
    if ((uses['label']?.calls ?? 0) === 0) continue;
    const ofEnvironment = await readUses(store, layout.environmentUse(runId), parseEnvironmentUse);
    const { synthesise: _s, read: _r, ...ofIdentify } = uses;
    const tokens = { tokens: tokensOf(uses), identifyTokens: tokensOf(ofIdentify) };
    return { runId, sizes: meansOf(uses), ...tokens, episode: meanEpisode(ofEnvironment) };
  }
  return { runId: null, sizes: {}, tokens: null, identifyTokens: null, episode: null };
}

/** What a document counts; nothing if its file is damaged, since the previous run may still show sizes. */
async function readUses<Uses extends object>(
  store: ArtifactStore,
  key: string,
  parse: (stored: unknown) => { uses: Uses },
): Promise<Uses | Record<string, never>> {
  try {
    return parse((await store.readDocument(key))?.value).uses;
  } catch {
    return {};
  }
}

function meanEpisode(use: EnvironmentUse): CallSize | null {
  const { collect } = use;
  // Other stages open many tasks without playing them, which costs less.
  const isEnough = collect !== undefined && collect.episodes > collect.unknown;
  const { episodes, unknown, promptTokens, completionTokens } = isEnough ? collect : sumOfStages(use);
  const known = episodes - unknown;
  return known === 0
    ? null
    : { promptTokens: promptTokens / known, cachedTokens: 0, completionTokens: completionTokens / known };
}

const tokensOf = (uses: AnalystUse): number =>
  Object.values(uses)
    .map(withLost)
    .reduce((sum, { promptTokens, completionTokens }) => sum + promptTokens + completionTokens, 0);

function meansOf(use: AnalystUse): Partial<Record<Kind, CallSize>> {
  const mean = (total: number, calls: number) => total / calls;
  return Object.fromEntries(
    Object.entries(use)
      .filter(([, { calls }]) => calls > 0)
      .map(([kind, { calls, promptTokens, cachedTokens, completionTokens }]) => [
        kind,
        {
          promptTokens: mean(promptTokens, calls),
          cachedTokens: mean(cachedTokens, calls),
          completionTokens: mean(completionTokens, calls),
        },
      ]),
  );
}

/**
 * Smallest gain that the evaluation can prove for any agent. The plan uses the fewest trials that prove the wanted
 * gain. So an agent with less varying results gets fewer trials, and cannot prove a smaller gain either.
 */
function provableGain({ evaluation }: AgentSpec, { tasks, leastTrials: least, mostTrials: most }: HeldOutSize): number {
  const confidence = confidenceOfComparison(evaluation.confidence, 1);
  const provable = (trials: number) => minimumDetectableGain(unknownAgent({ tasks, trials, confidence }));
  const { detectableGain: gain } = evaluation;
  if (gain === undefined) return provable(least);
  const { trials } = plannedTrials(unknownAgent({ tasks, trials: least, confidence }), { least, most, gain });
  return trials === least ? provable(least) : Math.max(gain, provable(trials));
}

/** Tokens of a whole episode. */
const tokensOfEpisode = ({ environment, analyst }: AgentSpec): number =>
  Math.min(environment.maxTurns * TURN_TOKENS, analyst.maxPromptTokens);

/** Sizes of calls where no earlier run tells them. @param conversation tokens of one; absent: unknown. */
function assumedSizes(spec: AgentSpec, conversation = tokensOfEpisode(spec)): Record<Kind, CallSize> {
  const { identify, analyst } = spec;
  const episodeTokens = Math.min(Math.ceil(conversation), analyst.maxPromptTokens);
  return {
    discover: {
      promptTokens: Math.ceil(identify.batchSize * (1 + DISCOVERY_SUCCESSES)) * episodeTokens,
      cachedTokens: 0,
      completionTokens: ANSWER_TOKENS.discover,
    },
    label: { promptTokens: episodeTokens + AROUND_TOKENS, cachedTokens: 0, completionTokens: ANSWER_TOKENS.label },
    synthesise: { promptTokens: SYNTHESIS_TOKENS, cachedTokens: 0, completionTokens: ANSWER_TOKENS.synthesise },
    read: {
      promptTokens: Math.min(EPISODES_READ * episodeTokens + AROUND_TOKENS, analyst.maxPromptTokens),
      cachedTokens: 0,
      completionTokens: EPISODES_READ * ANSWER_TOKENS.label,
    },
  };
}

/** Rollouts of all trainings of a run, the mixed one included, and of their probes. */
function trainingRollouts({ identify, training, evaluation }: AgentSpec): { own: number; probes: number } {
  const { groups, rolloutsPerGroup, resampleGroups, iterations, probeEvery, probeCalledFor, probeOthers } = training;
  const probesIn = (length: number): number => (probeEvery === 0 ? 0 : Math.ceil(length / probeEvery));
  const all = identify.maxCandidates * iterations;
  const probes = identify.maxCandidates * probesIn(iterations) + (evaluation.mixedAdapter ? probesIn(all) : 0);
  return {
    own: (evaluation.mixedAdapter ? 2 : 1) * all * (groups + resampleGroups) * rolloutsPerGroup,
    probes: probes * (probeCalledFor + probeOthers),
  };
}

/** Largest number of calls of the second reader. */
const mostReadings = ({ identify, synthesis, certificate: { secondReader } }: AgentSpec): number =>
  secondReader.labels === 0
    ? 0
    : identify.maxCandidates * synthesis.maxAttempts * Math.ceil(secondReader.maxLabels / EPISODES_READ);

/** The rarest need that the planned rollouts can find; where nothing is played, the conversations. */
const rarestNeedOf = ({ environment, identify }: AgentSpec, conversations: number): RunEstimate['rarestNeed'] =>
  rarestNeed({
    tasks: isPlayable(environment) ? environment.trainSeeds.count : conversations,
    otherRisk: ASSUMED_OTHER_RISK,
    candidates: identify.maxCandidates,
    familywiseError: identify.familywiseError,
    minCoverage: identify.minCoverage,
  });

/** Makes the rows of rollouts of the agent's own model. */
const rolloutsOf =
  (spec: AgentSpec) =>
  (stage: string, what: string, episodes: number): StageEstimate => ({
    stage,
    what,
    calls: episodes * spec.environment.maxTurns,
    promptTokens: Math.round((episodes * spec.environment.maxTurns * tokensOfEpisode(spec)) / 2),
    cachedTokens: 0,
    completionTokens: Math.round((episodes * tokensOfEpisode(spec)) / 2),
    usd: null,
  });

/**
 * The row of simulated users and judges; null if the environment is a Python class.
 * @param episode what they spend in an episode; null: assumed to be what the agent's model spends.
 * @param evaluated rollouts that the evaluation plays.
 */
function usersOf(spec: AgentSpec, episode: CallSize | null, evaluated: number): StageEstimate | null {
  const { environment, collect, identify, budget } = spec;
  if (commandOf(environment) === null) return null;
  const calls = environment.trainSeeds.count * collect.trials + identify.experimentRollouts + evaluated;
  const { promptTokens, completionTokens } = episode ?? rolloutsOf(spec)('', '', 1);
  const use = {
    promptTokens: Math.round(promptTokens * calls),
    completionTokens: Math.round(completionTokens * calls),
  };
  const usd = dollarsForEnvironment({ all: { episodes: calls, unknown: 0, ...use } }, budget.environment);
  const what = 'simulated users and judges, episodes, at most';
  return { stage: 'all', what, calls, ...use, cachedTokens: 0, usd };
}

/** Conversations that a run would read. */
export interface ReadConversations {
  count: number;
  /** Mean tokens of one. Absent: assumed to be as long as an episode. */
  tokens?: number;
}

/**
 * Estimates a run. `live` are the conversations that would join the rollouts, or stand in their place. Labels that the
 * store already has are counted too, so the estimate of the labels is an upper bound. `until`: its last stage; absent:
 * all.
 */
export function estimateRun(
  spec: AgentSpec,
  last: Awaited<ReturnType<typeof readLastCallSizes>>,
  live: ReadConversations,
  until?: RunEnd,
): RunEstimate {
  const { environment, collect, identify, synthesis, analyst } = spec;
  const plays = isPlayable(environment);
  const episodes = environment.trainSeeds.count * collect.trials;
  const assumed = assumedSizes(spec, live.tokens);
  const prices = pricesOf(analyst);
  const row = (stage: string, what: string, kind: Kind, calls: number): StageEstimate => {
    const size = last.sizes[kind] ?? assumed[kind];
    const use = {
      promptTokens: Math.round(size.promptTokens * calls),
      cachedTokens: Math.round(size.cachedTokens * calls),
      completionTokens: Math.round(size.completionTokens * calls),
    };
    const share = kind === 'label' && analyst.mode === 'batch' ? BATCH_PRICE : 1;
    return { stage, what, calls, ...use, usd: prices === null ? null : dollarsFor(use, prices) * share };
  };
  const rollouts = rolloutsOf(spec);
  const heldOut = heldOutSize(spec);
  const heldOutRollouts = heldOut.tasks * heldOut.mostTrials;
  const judged = heldOutRollouts * (identify.maxCandidates + 4);
  const evaluated = spec.evaluation.routingRollouts + judged + heldOut.tasks;
  const users = usersOf(spec, last.episode, until === undefined ? evaluated : 0);
  const ofTraining = trainingRollouts(spec);
  const isPart = ({ stage }: StageEstimate): boolean => until === undefined || BEFORE_TRAINING.includes(stage);
  const asked = [
    row('identify', 'discovery', 'discover', identify.discoveryBatches),
    row(
      'identify',
      `labels, ${identify.runs} run${identify.runs === 1 ? '' : 's'}, at most`,
      'label',
      (episodes + live.count) * identify.maxCandidates * identify.runs,
    ),
    row('sharpen', 'environments, at most', 'synthesise', identify.maxCandidates * synthesis.maxAttempts),
    ...(mostReadings(spec) > 0
      ? [row('sharpen', 'second reader of environments, at most', 'read', mostReadings(spec))]
      : []),
  ].filter(isPart);
  const stages = [
    ...(plays ? [rollouts('collect', 'base model, at most', episodes)] : []),
    ...asked,
    ...(plays && identify.experimentRollouts > 0
      ? [rollouts('identify', 'experiments where labels do not decide, at most', identify.experimentRollouts)]
      : []),
    rollouts('sharpen', 'trainings, at most', ofTraining.own),
    ...(ofTraining.probes > 0
      ? [rollouts('sharpen', 'their probes; after a loss up to ten times as many', ofTraining.probes)]
      : []),
    rollouts('evaluate', 'routers on train tasks, at most', spec.evaluation.routingRollouts),
    rollouts('evaluate', 'base model, adapters, active version, at most', judged),
  ].filter(isPart);
  const sum = (name: 'promptTokens' | 'completionTokens') => asked.reduce((total, stage) => total + stage[name], 0);
  return {
    stages: users === null ? stages : [...stages, users],
    tokens: sum('promptTokens') + sum('completionTokens'),
    environment: users && {
      ...{ episodes: users.calls, tokens: users.promptTokens + users.completionTokens, usd: users.usd },
    },
    expectedTokens: until === undefined ? last.tokens : last.identifyTokens,
    minimumDetectableGain: plays ? provableGain(spec, heldOut) : null,
    rarestNeed: rarestNeedOf(spec, live.count),
    usd: prices === null ? null : asked.reduce((total, { usd }) => total + (usd ?? 0), 0),
    basis:
      last.runId === null
        ? live.tokens !== undefined
          ? 'The store has no earlier run of this agent. Assumed: a token for each four characters of a conversation.'
          : `The store has no earlier run of this agent. Assumed: ${TURN_TOKENS} tokens for each turn of an episode, ` +
            'and environment.maxTurns turns for every episode.'
        : `Sizes of analyst calls are the means of ${last.runId}.`,
  };
}
