import {
  type Ablation,
  type Candidate,
  type EvidenceQuote,
  type Identification,
  IDENTIFY_ARMS,
} from '../../contracts/artifacts/identification';
import type { PreparedSpec } from '../../contracts/artifacts/prepared-spec';
import type { ContrastInput, IdentifyResult } from '../../contracts/messages/identify-stage';
import type { TokenUse } from '../../contracts/messages/run-context';
import { changeDictionary, getJson, layout, putJson } from '../../store';
import { readRecordedCalls, sumCalls } from '../analyst/recorded-calls';
import { discoveryDetailSchema, discoveryWork } from './discover-candidates';
import type { IdentifyArtifacts } from './identify-artifacts';
import { capabilityLabels, readTallies } from './labelling/tally';
import { chooseByArm, type SelectionInput } from './results/choose-capabilities';
import { comparePlanted } from './results/compare-planted';
import { rememberRun, withStatus } from './results/dictionary-status';
import { bestEvidence, quoteEvidence } from './results/evidence-quotes';
import { writeConsensusLabels, type Consensus } from './results/write-consensus-labels';
import { contrastCandidates } from './verdicts/contrast-candidates';
import { verdictRule } from './verdicts/verdict-rule';

/**
 * Activity: completes the stage. It contrasts each candidate over all labelling runs, gives the verdicts, chooses
 * capabilities by the spec's arm, quotes the evidence and updates the agent's dictionary. Its result depends only on
 * the tallies, so a repeated call changes nothing.
 */
export async function contrastCapabilities(
  artifacts: IdentifyArtifacts,
  input: ContrastInput,
): Promise<IdentifyResult> {
  const { context, discovery, totals } = input;
  const { store } = artifacts;
  const prepared = await artifacts.prepared(context);
  const { identify } = prepared.spec;
  const rule = verdictRule(identify);
  const candidates = await artifacts.candidates(discovery.candidates);
  const { merges, dictionary } = await getJson(store, discovery.detail, discoveryDetailSchema);
  const runs = await readTallies(store, input.tally);
  // Trajectories whose diagnostics say "lacking", by diagnostics id.
  const truth = new Map<string, Set<number>>();
  const { ids, outcomes } = await artifacts.outcomes(input.trajectories, ({ diagnostics }, index) => {
    for (const [name, state] of Object.entries(diagnostics))
      if (state === 'lacking') truth.set(name, (truth.get(name) ?? new Set()).add(index));
  });
  const labelled = candidates.map(({ id }) => ({ id, labels: capabilityLabels(runs, id) }));
  const contrasts = withStatus(contrastCandidates(labelled, outcomes, rule), dictionary);
  const consensus = await writeConsensusLabels(artifacts, context.runId, runs, candidates, { ids, outcomes });

  const selection: SelectionInput = { candidates: labelled, outcomes, contrasts, rule, seed: context.seed };
  const kept = chooseByArm(identify.arm, selection);
  // The base model has the planted deficits. The active version, which a night measures, has adapters for them.
  const comparedWithPlanted = (chosen: readonly string[]) =>
    input.measures ? {} : plantedOf(prepared, chosen, consensus, truth);
  const spent = sumCalls(await readRecordedCalls(store, context.runId, discoveryWork(input.measures === true)));
  const usage = {
    promptTokens: spent.promptTokens + totals.promptTokens,
    completionTokens: spent.completionTokens + totals.completionTokens,
    cachedTokens: spent.cachedTokens + totals.cachedTokens,
  };
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
    analyst: prepared.analyst.displayName,
    ...comparedWithPlanted(kept),
  };
  const ref = await putJson(store, layout.capabilities(context.runId), 'identification.json', identification);
  if (!input.independent) {
    await changeDictionary(store, context.agent, (current) =>
      rememberRun(current, { runId: context.runId, candidates, contrasts, merges }),
    );
  }
  const briefs = kept.flatMap((id) =>
    candidates.filter((c) => c.id === id).map(({ name, summary }) => ({ id, name, summary })),
  );
  const { promptTokens, completionTokens } = usage;
  const tokens: TokenUse[] = [{ stage: 'identify', model: prepared.analyst.model, promptTokens, completionTokens }];
  return { identification: ref, labels: consensus.labels, kept: briefs, candidates: candidates.length, tokens };
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
