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
import { RecordedCalls, sumCalls } from '../analyst/recorded-calls';
import { chooseByArm, type ArmInput } from './arms';
import { writeConsensus, type Consensus } from './consensus-labels';
import { contrastCandidates } from './contrast';
import { discoveryDetailSchema, DISCOVERY_WORK } from './discover';
import type { Documents } from './documents';
import { bestEvidence, quoteEvidence } from './evidence';
import { identifyRule } from './identify-rule';
import { rememberRun, withStatus } from './identity';
import { comparePlanted } from './planted';
import { outcomesOf } from './statistics/label-table';
import { labelsOf, readTallies } from './tally-store';

/**
 * Contrasts each candidate over all labelling runs, gives the verdicts, chooses by the spec's arm, quotes the evidence,
 * and brings the agent's dictionary up to date. All of it follows from the tallies; a repeated call changes nothing.
 */
export async function contrastCapabilities(documents: Documents, input: ContrastInput): Promise<IdentifyResult> {
  const { context, discovery, totals } = input;
  const { store } = documents;
  const prepared = await documents.prepared(context);
  const { identify } = prepared.spec;
  const rule = identifyRule(identify);
  const candidates = await documents.candidates(discovery.candidates);
  const { merges, dictionary } = await getJson(store, discovery.detail, discoveryDetailSchema);
  const runs = await readTallies(store, input.tally);
  const { ids, seen, truth } = await readTrajectories(documents, input);
  const outcomes = outcomesOf(seen);
  const labelled = candidates.map(({ id }) => ({ id, labels: labelsOf(runs, id) }));
  const contrasts = withStatus(contrastCandidates(labelled, outcomes, rule), dictionary);
  const consensus = await writeConsensus(documents, context.runId, runs, candidates, { ids, outcomes });

  const arms: ArmInput = { candidates: labelled, outcomes, contrasts, rule, seed: context.seed };
  const kept = chooseByArm(identify.arm, arms);
  const against = (chosen: readonly string[]) => plantedOf(prepared, chosen, consensus, truth);
  const spent = await discoverySpending(documents, context.runId);
  const usage = {
    promptTokens: spent.promptTokens + totals.promptTokens,
    completionTokens: spent.completionTokens + totals.completionTokens,
    cachedTokens: spent.cachedTokens + totals.cachedTokens,
  };
  const looked = runs.reduce((sum, { codes }) => sum + codes.length, 0);
  const identification: Identification = {
    candidates,
    merges,
    contrasts,
    kept,
    arm: identify.arm,
    ...(identify.ablations && {
      ablations: IDENTIFY_ARMS.map((arm): Ablation => {
        const chosen = chooseByArm(arm, arms);
        return { arm, kept: chosen, ...against(chosen) };
      }),
    }),
    gone: dictionary.entries
      .filter(({ id, state }) => state === 'lacking' && !candidates.some((c) => c.id === id))
      .map(({ id }) => id),
    evidence: await quotes(documents, input, candidates, consensus),
    thresholds: { minGap: rule.minGap, minCoverage: rule.minCoverage },
    rule: { runs: rule.runs, quorum: rule.quorum, familywiseError: rule.familywiseError },
    calls: {
      discovery: discovery.calls,
      label: totals.asked,
      reused: totals.reused,
      unlabelled: runs.reduce((sum, { codes }) => sum + codes.reduce((n, code) => n + (code === 0 ? 1 : 0), 0), 0),
      saved: candidates.length * ids.length * rule.runs - looked,
    },
    usage,
    analyst: prepared.analyst.displayName,
    ...against(kept),
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
  const tokens: TokenUse[] = [
    {
      stage: 'identify',
      model: prepared.analyst.model,
      promptTokens: usage.promptTokens,
      completionTokens: usage.completionTokens,
    },
  ];
  return { identification: ref, labels: consensus.labels, kept: briefs, candidates: candidates.length, tokens };
}

async function readTrajectories(documents: Documents, { trajectories }: ContrastInput) {
  const ids: string[] = [];
  const seen: { success: boolean; task: number }[] = [];
  const truth = new Map<string, Set<number>>();
  for await (const { id, success, task, diagnostics } of await documents.trajectories(trajectories)) {
    const index = ids.push(id) - 1;
    seen.push({ success, task: task.seed });
    for (const [name, state] of Object.entries(diagnostics)) {
      if (state === 'lacking') truth.set(name, (truth.get(name) ?? new Set()).add(index));
    }
  }
  return { ids, seen, truth };
}

async function quotes(
  documents: Documents,
  input: ContrastInput,
  candidates: readonly Candidate[],
  { failures }: Consensus,
): Promise<EvidenceQuote[]> {
  const file = await documents.trajectories(input.trajectories);
  return candidates
    .flatMap(({ id }) => bestEvidence(failures.get(id) ?? [], input.context.seed))
    .flatMap(({ label, trajectory }) => quoteEvidence(label, file.at(trajectory)) ?? []);
}

async function discoverySpending({ store }: Documents, runId: string) {
  const calls = await RecordedCalls.open(store, runId, DISCOVERY_WORK);
  const spent = sumCalls(calls.records);
  await calls.close();
  return spent;
}

function plantedOf(
  { spec: { groundTruth } }: PreparedSpec,
  kept: readonly string[],
  { lacking }: Consensus,
  truth: ReadonlyMap<string, ReadonlySet<number>>,
): Pick<Identification, 'planted'> {
  if (!groundTruth) return {};
  return {
    planted: comparePlanted({
      planted: groundTruth.planted,
      decoys: groundTruth.decoys,
      kept,
      labelled: lacking,
      truth,
    }),
  };
}
