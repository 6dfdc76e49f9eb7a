import { continueAsNew, executeChild, setCurrentDetails, workflowInfo } from '@temporalio/workflow';
import { LABELLING } from '../../contracts/limits';
import type { LabelChunkResult, LabelChunksInput } from '../../contracts/messages/identify-stage';
import { WORKFLOWS } from '../../contracts/names';
import { llm } from '../shared/activities';
import { settleAll } from '../shared/settle-all';

/** Counts before any chunk. */
export const NOTHING_LABELLED: LabelChunkResult = {
  asked: 0,
  reused: 0,
  unlabelled: 0,
  promptTokens: 0,
  completionTokens: 0,
  cachedTokens: 0,
};

/** Sum of two counts. */
export const addLabels = (a: LabelChunkResult, b: LabelChunkResult): LabelChunkResult => ({
  asked: a.asked + b.asked,
  reused: a.reused + b.reused,
  unlabelled: a.unlabelled + b.unlabelled,
  promptTokens: a.promptTokens + b.promptTokens,
  completionTokens: a.completionTokens + b.completionTokens,
  cachedTokens: a.cachedTokens + b.cachedTokens,
});

/**
 * Labels every chunk of a plan, a few at a time. A chunk writes its labels to the store and returns only counts. The
 * workflow continues as new between chunks when its history grows long. A large plan is divided among several children
 * of the same type.
 */
export async function labelChunks(input: LabelChunksInput): Promise<LabelChunkResult> {
  const { plan, end = plan.chunks } = input;
  if (input.end === undefined && plan.chunks > LABELLING.chunksPerWorkflow) return labelInChildren(input);
  let { cursor, totals } = input;
  let failed = false;
  const labelOne = async (chunk: number): Promise<void> => {
    const { context, trajectories, candidates } = input;
    const counts = await llm.labelChunk.executeWithOptions({ summary: `labels ${chunk + 1} of ${plan.chunks}` }, [
      { context, plan, trajectories, candidates, chunk },
    ]);
    // `totals` is read after the await, because parallel chunks add to it meanwhile.
    totals = addLabels(totals, counts);
  };
  const labelRemaining = async (): Promise<void> => {
    while (cursor < end && !failed && !isHistoryLong()) {
      const chunk = cursor++;
      try {
        await labelOne(chunk);
      } catch (error) {
        failed = true;
        throw error;
      }
      setCurrentDetails(detailsOf(totals, plan.calls));
    }
  };
  await settleAll(Array.from({ length: plan.window ?? LABELLING.chunksInFlight }, labelRemaining));
  if (cursor < end) await continueAsNew<typeof labelChunks>({ ...input, cursor, totals });
  return totals;
}

const detailsOf = ({ asked, reused, unlabelled }: LabelChunkResult, calls: number): string =>
  `${asked + reused} of ${calls} labels (${reused} reused, ${unlabelled} without an answer)`;

/** Divides a plan evenly among children. */
async function labelInChildren(input: LabelChunksInput): Promise<LabelChunkResult> {
  const { plan } = input;
  const children = Math.min(LABELLING.childWorkflows, Math.ceil(plan.chunks / LABELLING.chunksPerWorkflow));
  const firstChunk = (child: number) => Math.floor((child * plan.chunks) / children);
  const window = Math.max(2, Math.ceil((plan.window ?? LABELLING.chunksInFlight) / children));
  const results = await settleAll(
    Array.from({ length: children }, (_, child) =>
      executeChild<typeof labelChunks>(WORKFLOWS.labelChunks, {
        workflowId: `${workflowInfo().workflowId}/${child + 1}-of-${children}`,
        staticSummary: `chunks ${firstChunk(child) + 1} to ${firstChunk(child + 1)} of ${plan.chunks}`,
        args: [
          {
            ...input,
            plan: { ...plan, window },
            cursor: firstChunk(child),
            end: firstChunk(child + 1),
            totals: NOTHING_LABELLED,
          },
        ],
      }),
    ),
  );
  return results.reduce(addLabels, input.totals);
}

function isHistoryLong(): boolean {
  const { continueAsNewSuggested, historyLength } = workflowInfo();
  return continueAsNewSuggested || historyLength > LABELLING.historyEvents;
}
