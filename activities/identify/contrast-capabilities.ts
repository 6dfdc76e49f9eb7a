import { Context } from '@temporalio/activity';
import type { ArtifactRef } from '../../contracts/artifacts/artifact-ref';
import {
  type Ablation,
  type Candidate,
  type EvidenceQuote,
  type Identification,
  IDENTIFY_ARMS,
} from '../../contracts/artifacts/identification';
import type { PreparedSpec } from '../../contracts/artifacts/prepared-spec';
import type { ContrastInput, ContrastResult, IdentifyResult } from '../../contracts/messages/identify-stage';
import type { TokenUse } from '../../contracts/messages/run-context';
import { startOf } from '../../contracts/clean-text';
import { rarestNeed } from '../../contracts/statistics/rarest-need';
import type { Experiments } from '../../contracts/artifacts/experiment';
import { type ArtifactStore, changeDictionary, getJson, layout, putJson } from '../../store';
import { readRecordedCalls, sumCalls } from '../analyst/recorded-calls';
import { discoveryDetailSchema, discoveryWork } from './discover-candidates';
import { tryCandidates } from './experiments/try-candidates';
import type { IdentifyArtifacts } from './identify-artifacts';
import { capabilityLabels, readTallies } from './labelling/tally';
import { chooseByArm, type SelectionInput } from './results/choose-capabilities';
import { comparePlanted } from './results/compare-planted';
import { rememberRun, withStatus } from './results/dictionary-status';
import { type EpisodeFacts, factsOf, withTargetEvidence } from './target-evidence';
import { consensusCodes } from './verdicts/consensus-vote';
import { bestEvidence, quoteEvidence } from './results/evidence-quotes';
import { writeConsensusLabels, type Consensus } from './results/write-consensus-labels';
import { contrastCandidates } from './verdicts/contrast-candidates';
import { LABEL_CODES } from './verdicts/label-codes';
import type { TrajectoryOutcomes } from './verdicts/task-sums';
import { type VerdictRule, verdictRule } from './verdicts/verdict-rule';
import { mean } from '../statistics/mean';

/** Longest reason in the workflow, in characters. */
const MAX_REASON = 500;

/**
 * Activity: completes the stage. It contrasts each candidate over all labelling runs, gives the verdicts, chooses
 * capabilities by the spec's arm, quotes the evidence and updates the agent's dictionary. If the labels leave questions
 * to experiments, it returns these instead of updating the dictionary, and is called again with the experiments. Its
 * result depends only on the tallies and on them, so a repeated call changes nothing.
 */
export async function contrastCapabilities(
  artifacts: IdentifyArtifacts,
  input: ContrastInput,
): Promise<ContrastResult> {
  const { context, discovery, totals } = input;
  const { store } = artifacts;
  const prepared = await artifacts.prepared(context);
  const { identify } = prepared.spec;
  const rule = verdictRule(identify);
  const candidates = await artifacts.candidates(discovery.candidates);
  const { merges, dictionary } = await getJson(store, discovery.detail, discoveryDetailSchema);
  const runs = await readTallies(store, input.tally);
  const { ids, outcomes, facts, truth } = await readEpisodes(artifacts, input.trajectories);
  const labelled = candidates.map(({ id }) => ({ id, labels: capabilityLabels(runs, id) }));
  const codes = labelled.map(({ labels }) => consensusCodes(labels));
  const judged = await withTargetEvidence(contrastCandidates(labelled, outcomes, rule), {
    candidates,
    ...{ codes, outcomes, facts, prepared, rule },
    runId: context.runId,
    player: artifacts.player,
    signal: Context.current().cancellationSignal,
  });
  const tried = await tryCandidates(artifacts, input, judged, { candidates, codes, facts, rule }, identify);
  const contrasts = withStatus(tried.contrasts, dictionary);
  const consensus = await writeConsensusLabels(artifacts, context.runId, runs, candidates, { ids, outcomes });

  const selection: SelectionInput = { candidates: labelled, outcomes, contrasts, rule, seed: context.seed };
  const kept = chooseByArm(identify.arm, selection);
  // The base model has the planted deficits. The active version, which a night measures, has adapters for them.
  const comparedWithPlanted = (chosen: readonly string[]) =>
    input.measures ? {} : plantedOf(prepared, chosen, consensus, truth);
  const usage = await usageOf(store, input);
  const labelsMade = runs.reduce((sum, { codes }) => sum + codes.length, 0);
  const identification: Identification = {
    candidates,
    merges,
    contrasts,
    kept,
    arm: identify.arm,
    ...(identify.ablations && {
      ablations: IDENTIFY_ARMS.map((arm): Ablation => {
        const chosen = chooseByArm(arm, selection);
        return { arm, kept: chosen, ...comparedWithPlanted(chosen) };
      }),
    }),
    gone: dictionary.entries
      .filter(({ id, state }) => state === 'lacking' && !candidates.some((c) => c.id === id))
      .map(({ id }) => id),
    evidence: await evidenceQuotes(artifacts, input, candidates, consensus),
    power: powerOf(codes, outcomes, rule),
    thresholds: { minGap: rule.minGap, minCoverage: rule.minCoverage },
    rule: { runs: rule.runs, quorum: rule.quorum, familywiseError: rule.familywiseError },
    calls: {
      discovery: discovery.calls,
      label: totals.asked,
      reused: totals.reused,
      unlabelled: runs.reduce((sum, { codes }) => sum + codes.reduce((n, code) => n + (code === 0 ? 1 : 0), 0), 0),
      saved: candidates.length * ids.length * rule.runs - labelsMade,
    },
    usage,
    ...(tried.experiments && { experiments: costOf(tried.experiments, identify.experimentRollouts) }),
    analyst: prepared.analyst.displayName,
    ...comparedWithPlanted(kept),
  };
  const ref = await putJson(store, layout.capabilities(context.runId), 'identification.json', identification);
  if (!input.independent && tried.questions === undefined) {
    await changeDictionary(store, context.agent, (current) =>
      rememberRun(current, { runId: context.runId, candidates, contrasts, merges }),
    );
  }
  const { promptTokens, completionTokens } = usage;
  const tokens: TokenUse[] = [
    { stage: 'identify', model: prepared.analyst.model, promptTokens, completionTokens },
    ...(tried.experiments ? [tokensOf(tried.experiments, prepared)] : []),
  ];
  return {
    ...{ identification: ref, labels: consensus.labels, ...briefResult(identification, input), tokens },
    ...(tried.questions && { questions: tried.questions }),
    ...(tried.experiments && { experiments: input.experiments! }),
  };
}

/** Tokens of the analyst: for discovery and for labels. */
async function usageOf(
  store: ArtifactStore,
  { context, measures, totals }: ContrastInput,
): Promise<Identification['usage']> {
  const spent = sumCalls(await readRecordedCalls(store, context.runId, discoveryWork(measures === true)));
  return {
    promptTokens: spent.promptTokens + totals.promptTokens,
    completionTokens: spent.completionTokens + totals.completionTokens,
    cachedTokens: spent.cachedTokens + totals.cachedTokens,
  };
}

const costOf = ({ rollouts, failed, seconds }: Experiments, budget: number) => ({
  ...{ rollouts, budget, seconds },
  ...(failed && { failed }),
});

const tokensOf = ({ promptTokens, completionTokens }: Experiments, { spec }: PreparedSpec): TokenUse => ({
  ...{ stage: 'identify', model: spec.model.name, promptTokens, completionTokens },
});

/** What the contrast has to know of every trajectory, in one reading. */
async function readEpisodes(artifacts: IdentifyArtifacts, trajectories: ArtifactRef) {
  // Trajectories whose diagnostics say "lacking", by diagnostics id.
  const truth = new Map<string, Set<number>>();
  const facts: EpisodeFacts = { seeds: [], tools: [], sources: [] };
  const read = await artifacts.outcomes(trajectories, (trajectory, index) => {
    const { seed, tools, sources } = factsOf(trajectory);
    facts.seeds.push(seed);
    facts.tools.push(tools);
    facts.sources.push(sources);
    for (const [name, state] of Object.entries(trajectory.diagnostics))
      if (state === 'lacking') truth.set(name, (truth.get(name) ?? new Set()).add(index));
  });
  return { ...read, facts, truth };
}

/** How rare a need these episodes can show. */
function powerOf(
  codes: readonly Uint8Array[],
  { success, tasks }: TrajectoryOutcomes,
  { familywiseError, minCoverage }: VerdictRule,
): NonNullable<Identification['power']> {
  const others = success.filter((_, i) => codes.every((own) => own[i] !== LABEL_CODES.LACKING));
  const otherRisk = others.length === 0 ? null : 1 - mean([...others]);
  const design = { tasks, otherRisk: otherRisk ?? 1, candidates: codes.length, familywiseError, minCoverage };
  return { tasks, otherRisk, rarestNeed: rarestNeed(design) };
}

/** What the workflow needs of the findings: small enough for its history. */
function briefResult(
  { candidates, kept, contrasts }: Pick<Identification, 'candidates' | 'kept' | 'contrasts'>,
  { discovery }: ContrastInput,
): Pick<IdentifyResult, 'kept' | 'candidates' | 'earlier' | 'untrainable'> {
  const untrainable = contrasts.flatMap(({ verdict, capabilityId: id, reason }) =>
    verdict === 'not-trainable' ? [{ id, reason: startOf(reason, MAX_REASON) }] : [],
  );
  return {
    kept: kept.flatMap((id) =>
      candidates.filter((c) => c.id === id).map(({ name, summary }) => ({ id, name, summary })),
    ),
    candidates: candidates.length,
    ...(discovery.pooled && { earlier: discovery.pooled.earlier }),
    ...(untrainable.length > 0 && { untrainable }),
  };
}

async function evidenceQuotes(
  artifacts: IdentifyArtifacts,
  input: ContrastInput,
  candidates: readonly Candidate[],
  { failures }: Consensus,
): Promise<EvidenceQuote[]> {
  const file = await artifacts.trajectories(input.trajectories);
  const quotes: EvidenceQuote[] = [];
  for (const { id } of candidates) {
    for (const { label, trajectory } of bestEvidence(failures.get(id) ?? [], input.context.seed)) {
      const quote = quoteEvidence(label, await file.at(trajectory));
      if (quote !== null) quotes.push(quote);
    }
  }
  return quotes;
}

function plantedOf(
  { spec: { groundTruth } }: PreparedSpec,
  kept: readonly string[],
  { lacking }: Consensus,
  truth: ReadonlyMap<string, ReadonlySet<number>>,
): Pick<Identification, 'planted'> {
  return groundTruth ? { planted: comparePlanted({ ...groundTruth, kept, labelled: lacking, truth }) } : {};
}
