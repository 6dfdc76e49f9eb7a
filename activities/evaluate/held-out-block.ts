import type { EvaluationPlan } from '../../contracts/artifacts/evaluation-plan';
import type { Nights } from '../../contracts/artifacts/night';
import type { AgentSpec } from '../../contracts/config/agent-spec';
import { heldOutSize } from '../../contracts/statistics/held-out-size';
import { type ArtifactStore, changeNights } from '../../store';
import { blockOfSeeds } from '../block-of-seeds';

/**
 * The held-out tasks of a run: the block after the blocks of all runs whose comparison was counted. So a run that was
 * cancelled before its comparison uses up no block. A run has one block, however often this is called. Undefined if all
 * held-out tasks are played; then nothing is written.
 */
export async function heldOutBlock(
  store: ArtifactStore,
  { runId, spec }: { runId: string; spec: AgentSpec },
): Promise<EvaluationPlan['rotation']> {
  const { tasks } = heldOutSize(spec);
  const all = spec.environment.heldOutSeeds;
  if (tasks === all.count) return undefined;
  const nights = await changeNights(store, spec.name, (before) =>
    blockOf(before, runId) === undefined
      ? { ...before, heldOutBlocks: [...(before.heldOutBlocks ?? []), { runId, block: nextBlock(before, runId) }] }
      : before,
  );
  const block = blockOf(nights, runId) ?? nextBlock(nights, runId);
  return { block, of: all.count, seeds: blockOfSeeds(all, tasks, block) };
}

const blockOf = ({ heldOutBlocks = [] }: Nights, runId: string): number | undefined =>
  heldOutBlocks.find((one) => one.runId === runId)?.block;

/** A run with two rivals has played its tasks only once. */
const nextBlock = ({ comparisons }: Nights, runId: string): number =>
  1 + new Set(comparisons.map((one) => one.runId).filter((one) => one !== runId)).size;
