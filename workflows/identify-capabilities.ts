import { executeChild, workflowInfo } from '@temporalio/workflow';
import { WORKFLOWS, childWorkflowId } from '../contracts/constants';
import type { IdentifyInput, IdentifyResult, LabelChunkResult } from '../contracts/run';
import { llm } from './activities';
import { Hold, noteToRun } from './hold';
import type { labelChunks } from './label-chunks';

const NOTHING: LabelChunkResult = { asked: 0, reused: 0, unlabelled: 0, promptTokens: 0, completionTokens: 0, cachedTokens: 0 };

/** Discover, label, contrast (paper, section 2). Waits for a person when the analyst refuses. */
export async function identifyCapabilities(input: IdentifyInput): Promise<IdentifyResult> {
  const { context, collected } = input;
  const runId = workflowInfo().parent?.workflowId;
  const note = (text: string, waitingFor: string | null = null) =>
    runId === undefined ? Promise.resolve() : noteToRun(runId, { key: 'identify', text, waitingFor });
  const hold = new Hold((reason) => note('', reason === null ? null : `${reason} Then: whet retry ${context.runId}`));
  // Skipping makes no sense here: without labels there is nothing to go on with, so the question is asked again.
  const insist = async <T>(action: () => Promise<T>): Promise<T> => (await hold.through(action)) ?? insist(action);

  const candidates = await insist(() => llm.discoverCandidates(input));
  const plan = await insist(() => llm.planLabels({ ...input, candidates: candidates.candidates, run: 0 }));
  const labelling = { context, plan, trajectories: collected.trajectories, candidates: candidates.candidates };
  // Together: a person's retry after too many unlabelled pairs asks those pairs again.
  return insist(async () => {
    const totals = await executeChild<typeof labelChunks>(WORKFLOWS.labelChunks, {
      workflowId: childWorkflowId.labels(context.runId, 0),
      staticSummary: `${plan.calls} labels in ${plan.chunks} chunks`,
      args: [{ ...labelling, cursor: 0, totals: NOTHING }],
    });
    return llm.contrastCapabilities({ ...labelling, totals, discoveryCalls: candidates.calls });
  });
}
