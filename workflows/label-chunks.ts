import { continueAsNew, executeChild, setCurrentDetails, workflowInfo } from '@temporalio/workflow';
import { WORKFLOWS } from '../contracts/names';
import type { LabelChunkResult, LabelChunksInput } from '../contracts/messages/identify-stage';
import { llm } from './activities';

/**
 * Chunks in flight where the plan does not say; each has its own bounded concurrency, so this only hides the gaps
 * between chunks.
 */
const WINDOW = 4;
/** A history stays well under the server's first warning (10,240 events). */
const MAX_EVENTS = 1_500;
/** A plan with more chunks than this is split among coordinators of their own: one history is one sequence of steps. */
const SHARD_CHUNKS = 1_000;
const MAX_SHARDS = 4;

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
 * Labels every chunk of a plan, a few at a time. What is done lies in the store, so a chunk carries back only counts,
 * and the workflow continues as new between chunks when its history grows long. A large plan is labelled by several
 * children of the same type.
 */
export async function labelChunks(input: LabelChunksInput): Promise<LabelChunkResult> {
  const { plan, end = plan.chunks } = input;
  if (input.end === undefined && plan.chunks > SHARD_CHUNKS) return labelShards(input);
  let { cursor, totals } = input;
  const labelOne = async (chunk: number): Promise<void> => {
    const { context, trajectories, candidates } = input;
    const counts = await llm.labelChunk.executeWithOptions({ summary: `labels ${chunk + 1} of ${plan.chunks}` }, [
      { context, plan, trajectories, candidates, chunk },
    ]);
    // Read `totals` after the await: other lanes add to it meanwhile.
    totals = addLabels(totals, counts);
  };
  let failed = false;
  const lane = async (): Promise<void> => {
    while (cursor < end && !failed && !shouldRest()) {
      const chunk = cursor++;
      try {
        await labelOne(chunk);
      } catch (error) {
        failed = true;
        throw error;
      }
      setCurrentDetails(
        `${totals.asked + totals.reused} of ${plan.calls} labels (${totals.reused} reused, ${totals.unlabelled} without an answer)`,
      );
    }
  };
  await allOf(Array.from({ length: plan.window ?? WINDOW }, lane));
  if (cursor < end) await continueAsNew<typeof labelChunks>({ ...input, cursor, totals });
  return totals;
}

async function labelShards(input: LabelChunksInput): Promise<LabelChunkResult> {
  const { plan } = input;
  const shards = Math.min(MAX_SHARDS, Math.ceil(plan.chunks / SHARD_CHUNKS));
  const border = (shard: number) => Math.floor((shard * plan.chunks) / shards);
  const window = Math.max(2, Math.ceil((plan.window ?? WINDOW) / shards));
  const results = await allOf(
    Array.from({ length: shards }, (_, shard) =>
      executeChild<typeof labelChunks>(WORKFLOWS.labelChunks, {
        workflowId: `${workflowInfo().workflowId}/${shard + 1}-of-${shards}`,
        staticSummary: `chunks ${border(shard) + 1} to ${border(shard + 1)} of ${plan.chunks}`,
        args: [
          {
            ...input,
            plan: { ...plan, window },
            cursor: border(shard),
            end: border(shard + 1),
            totals: NOTHING_LABELLED,
          },
        ],
      }),
    ),
  );
  return results.reduce(addLabels, input.totals);
}

/**
 * Waits for all, also when one fails: a chunk that is still under way when its workflow ends would go on writing beside
 * the attempt that comes after it. Throws the first failure.
 */
async function allOf<T>(promises: Promise<T>[]): Promise<T[]> {
  const settled = await Promise.allSettled(promises);
  for (const outcome of settled) if (outcome.status === 'rejected') throw outcome.reason;
  return settled.map((outcome) => (outcome as PromiseFulfilledResult<T>).value);
}

function shouldRest(): boolean {
  const { continueAsNewSuggested, historyLength } = workflowInfo();
  return continueAsNewSuggested || historyLength > MAX_EVENTS;
}
