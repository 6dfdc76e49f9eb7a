import { executeChild, workflowInfo } from '@temporalio/workflow';
import { childWorkflowId, WORKFLOWS } from '../contracts/names';
import type {
  IdentifyInput,
  IdentifyResult,
  LabelChunkResult,
  TallyResult,
} from '../contracts/messages/identify-stage';
import { llm } from './activities';
import { OperatorGate, reportStatus } from './operator-gate';
import { NOTHING_LABELLED, addLabels, type labelChunks } from './label-chunks';

/**
 * Discover, label, contrast (paper, section 2). The labelling runs go one after the other: each asks only about
 * candidates whose verdict the remaining runs can still change. Waits for a person when the analyst refuses.
 */
export async function identifyCapabilities(input: IdentifyInput): Promise<IdentifyResult> {
  const { context, collected, independent } = input;
  const runId = workflowInfo().parent?.workflowId;
  const note = (text: string, waitingFor: string | null = null) =>
    runId === undefined || independent ? Promise.resolve() : reportStatus(runId, { key: 'identify', text, waitingFor });
  const gate = new OperatorGate((reason) =>
    note('', reason === null ? null : `${reason} Then: whet retry ${context.runId}`),
  );
  // Skipping makes no sense here: without labels there is nothing to go on with, so the question is asked again.
  // A study has nobody to ask: it fails with the reason.
  const insist = async <T>(action: () => Promise<T>): Promise<T> =>
    independent ? action() : ((await gate.runUnlessSkipped(action)) ?? insist(action));

  const discovery = await insist(() => llm.discoverCandidates(input));
  const { trajectories } = collected;
  let totals: LabelChunkResult = NOTHING_LABELLED;
  let tallied: TallyResult | null = null;
  for (let run = 0, open = discovery.count > 0 ? discovery.candidates : null; open !== null; run++) {
    const candidates: typeof open = open;
    const previous: TallyResult['tally'] | null = tallied?.tally ?? null;
    const plan = await insist(() => llm.planLabels({ ...input, candidates, run: (independent?.firstRun ?? 0) + run }));
    const labelling = { context, plan, trajectories, candidates };
    // Together: a person's retry after too many unlabelled pairs asks those pairs again.
    const result: { labelled: LabelChunkResult; tallied: TallyResult } = await insist(async () => {
      const labelled = await executeChild<typeof labelChunks>(WORKFLOWS.labelChunks, {
        workflowId: childWorkflowId.labels(context.runId, run),
        staticSummary: `labelling run ${run + 1}: ${plan.calls} labels in ${plan.chunks} chunks`,
        args: [{ ...labelling, cursor: 0, totals: NOTHING_LABELLED }],
      });
      return {
        labelled,
        tallied: await llm.tallyRun({
          ...labelling,
          run,
          discovered: discovery.candidates,
          totals: labelled,
          previous,
        }),
      };
    });
    totals = addLabels(totals, result.labelled);
    tallied = result.tallied;
    await note(tallied.note);
    open = tallied.open;
  }
  return insist(() =>
    llm.contrastCapabilities({
      context,
      trajectories,
      discovery,
      tally: tallied?.tally ?? null,
      totals,
      ...(independent && { independent }),
    }),
  );
}
