import {
  type AnalystUse,
  parseAnalystUse,
  BATCH_PRICE,
  dollarsFor,
  pricesOf,
  withLost,
} from '../contracts/artifacts/analyst-use';
import { confidenceOfComparison } from '../contracts/statistics/error-spending';
import { minimumDetectableGain, unknownAgent } from '../contracts/statistics/minimum-detectable-gain';
import { heldOutSize, type HeldOutSize } from '../contracts/statistics/held-out-size';
import { plannedTrials } from '../contracts/statistics/planned-trials';
import type { AgentSpec } from '../contracts/config/agent-spec';
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
  /** The last run's use of the analyst, as the best guess for the next; null if there is none. */
  expectedTokens: number | null;
  /**
   * Smallest true gain over base that the evaluation proves in four of five cases, for any agent. In [0, 1]. The plan
   * adds trials only until the wanted gain can be proved.
   */
  minimumDetectableGain: number;
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
/** Assumed size in tokens of a synthesis prompt with rules, tools and a few episodes. */
const SYNTHESIS_TOKENS = 12_000;

type Kind = 'discover' | 'label' | 'synthesise';

/**
 * The mean size of each kind of analyst call, and all tokens, in the agent's last run. Only runs in this store with
 * labels count. Empty if there is none.
 */
export async function readLastCallSizes(
  store: ArtifactStore,
  agent: string,
): Promise<{ runId: string | null; sizes: Partial<Record<Kind, CallSize>>; tokens: number | null }> {
  const runs = (await store.list('runs')).filter((name) => name.startsWith(`run-${agent}-`)).reverse();
  for (const runId of runs) {
    const uses = await readUses(store, runId);
    if ((uses['label']?.calls ?? 0) > 0) return { runId, sizes: meansOf(uses), tokens: tokensOf(uses) };
  }
  return { runId: null, sizes: {}, tokens: null };
}

/** A run's use of the analyst; nothing if its file is damaged, since the previous run may still show sizes. */
async function readUses(store: ArtifactStore, runId: string): Promise<AnalystUse> {
  try {
    return parseAnalystUse((await store.readDocument(layout.analystUse(runId)))?.value).uses;
  } catch {
    return {};
  }
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

/**
 * Estimates a run. `live` is the number of live conversations that would join the rollouts. Labels that the store
 * already has are counted too, so the estimate of the labels is an upper bound.
 */
export function estimateRun(
  spec: AgentSpec,
  last: Awaited<ReturnType<typeof readLastCallSizes>>,
  live: number,
): RunEstimate {
  const { environment, collect, identify, synthesis, analyst } = spec;
  const episodes = environment.trainSeeds.count * collect.trials;
  const episodeTokens = Math.min(environment.maxTurns * TURN_TOKENS, analyst.maxPromptTokens);
  const assumed: Record<Kind, CallSize> = {
    discover: {
      promptTokens: identify.batchSize * episodeTokens,
      cachedTokens: 0,
      completionTokens: ANSWER_TOKENS.discover,
    },
    label: { promptTokens: episodeTokens + AROUND_TOKENS, cachedTokens: 0, completionTokens: ANSWER_TOKENS.label },
    synthesise: { promptTokens: SYNTHESIS_TOKENS, cachedTokens: 0, completionTokens: ANSWER_TOKENS.synthesise },
  };
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
  const rollouts = (stage: string, what: string, calls: number): StageEstimate => ({
    stage,
    what,
    calls: calls * environment.maxTurns,
    promptTokens: Math.round((calls * environment.maxTurns * episodeTokens) / 2),
    cachedTokens: 0,
    completionTokens: Math.round((calls * episodeTokens) / 2),
    usd: null,
  });
  const heldOut = heldOutSize(spec);
  const heldOutRollouts = heldOut.tasks * heldOut.mostTrials;
  const stages = [
    rollouts('collect', 'base model, at most', episodes),
    row('identify', 'discovery', 'discover', identify.discoveryBatches),
    row(
      'identify',
      `labels, ${identify.runs} run${identify.runs === 1 ? '' : 's'}, at most`,
      'label',
      (episodes + live) * identify.maxCandidates * identify.runs,
    ),
    row('sharpen', 'environments, at most', 'synthesise', identify.maxCandidates * synthesis.maxAttempts),
    rollouts('evaluate', 'routers on train tasks, at most', spec.evaluation.routingRollouts),
    rollouts(
      'evaluate',
      'base model, adapters, active version, at most',
      heldOutRollouts * (identify.maxCandidates + 4),
    ),
  ];
  const asked = stages.filter(({ stage }) => stage === 'identify' || stage === 'sharpen');
  const sum = (name: 'promptTokens' | 'completionTokens') => asked.reduce((total, stage) => total + stage[name], 0);
  return {
    stages,
    tokens: sum('promptTokens') + sum('completionTokens'),
    expectedTokens: last.tokens,
    minimumDetectableGain: provableGain(spec, heldOut),
    usd: prices === null ? null : asked.reduce((total, { usd }) => total + (usd ?? 0), 0),
    basis:
      last.runId === null
        ? `The store has no earlier run of this agent. Assumed: ${TURN_TOKENS} tokens for each turn of an episode, ` +
          'and environment.maxTurns turns for every episode.'
        : `Sizes of analyst calls are the means of ${last.runId}.`,
  };
}
