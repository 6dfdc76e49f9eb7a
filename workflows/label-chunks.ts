import { continueAsNew, setCurrentDetails, workflowInfo } from '@temporalio/workflow';
import type { LabelChunkResult, LabelChunksInput } from '../contracts/run';
import { llm } from './activities';

/** Chunks in flight; each has its own bounded concurrency, so this only hides the gaps between chunks. */
const WINDOW = 4;
/** A history stays well under the server's first warning (10,240 events). */
const MAX_EVENTS = 1_500;

/** Counts before any chunk. */
export const NOTHING_LABELLED: LabelChunkResult = { asked: 0, reused: 0, unlabelled: 0, promptTokens: 0, completionTokens: 0, cachedTokens: 0 };

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
 * Labels every chunk of a plan, a few at a time. What is done lies in the store, so a chunk carries back only counts, and the workflow
 * continues as new between chunks when its history grows long.
 */
export async function labelChunks(input: LabelChunksInput): Promise<LabelChunkResult> {
  const { plan } = input;
  let { cursor, totals } = input;
  const labelOne = async (chunk: number): Promise<void> => {
    const { context, trajectories, candidates } = input;
    const counts = await llm.labelChunk.executeWithOptions({ summary: `labels ${chunk + 1} of ${plan.chunks}` }, [
      { context, plan, trajectories, candidates, chunk },
    ]);
    // Read `totals` after the await: other lanes add to it meanwhile.
    totals = addLabels(totals, counts);
  };
  const lane = async (): Promise<void> => {
    while (cursor < plan.chunks && !shouldRest()) {
      const chunk = cursor++;
      await labelOne(chunk);
      setCurrentDetails(`${totals.asked + totals.reused} of ${plan.calls} labels (${totals.reused} reused, ${totals.unlabelled} without an answer)`);
    }
  };
  await Promise.all(Array.from({ length: WINDOW }, lane));
  if (cursor < plan.chunks) await continueAsNew<typeof labelChunks>({ ...input, cursor, totals });
  return totals;
}

function shouldRest(): boolean {
  const { continueAsNewSuggested, historyLength } = workflowInfo();
  return continueAsNewSuggested || historyLength > MAX_EVENTS;
}
