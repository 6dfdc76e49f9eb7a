import { ApplicationFailure, condition } from '@temporalio/workflow';
import type { PromoteResult } from '../../contracts/messages/evaluate-stage';
import type { RunPlan } from '../../contracts/messages/run';
import type { SharpenResult } from '../../contracts/messages/sharpen-stage';
import { orchestration } from '../shared/activities';
import type { EvaluationOutcome } from './evaluation-stage';
import type { Run } from '../waits/run';

/** The final evaluation of the run, and its version in the registry, or null. */
interface Promotion {
  evaluated: EvaluationOutcome | null;
  promotedVersion: number | null;
}

/**
 * Promotes the candidate if the gate is passed and, when the agent's owner requires it, a person has approved. If
 * another version has become active since the comparison, the candidate is compared with that version first.
 */
export async function promote(
  run: Run,
  plan: RunPlan,
  sharpened: SharpenResult[],
  first: EvaluationOutcome | null,
): Promise<Promotion> {
  const { table, gates } = run;
  if (first === null || !first.comparison.gatePassed) {
    table.skip('promote', first?.comparison.gateReasons.join(' ') ?? 'nothing to promote');
    return { evaluated: first, promotedVersion: null };
  }
  return table.run(
    'promote',
    async () => {
      for (let evaluated = first; ;) {
        if (plan.approval && !(await isApproved(run, evaluated === first))) return { evaluated, promotedVersion: null };
        const promotion = await gates.performUnlessSkipped('promote', () => promoteJudged(plan, sharpened, evaluated));
        if (promotion === null || promotion.version !== null)
          return { evaluated, promotedVersion: promotion?.version ?? null };
        evaluated = await evaluated.judgeAgain();
        if (!evaluated.comparison.gatePassed) return { evaluated, promotedVersion: null };
        // The approval was for the comparison with the previous version, so it does not count for this one.
        run.approved = false;
      }
    },
    ({ evaluated, promotedVersion }) => {
      if (promotedVersion !== null) return `version ${promotedVersion}`;
      if (!evaluated.comparison.gatePassed) return evaluated.comparison.gateReasons.join(' ');
      return run.early.approval ?? run.early.leftOut.get('promote') ?? 'skipped by a person';
    },
  );
}

function promoteJudged(
  { context }: RunPlan,
  sharpened: SharpenResult[],
  { router, mixed, comparison: { evaluation } }: EvaluationOutcome,
): Promise<PromoteResult> {
  const trained = sharpened.filter((s) => s.adapter !== null);
  return orchestration.promoteAdapters.executeWithOptions({ summary: `promote ${trained.length} adapters` }, [
    {
      context,
      adapters: [...trained.flatMap((s) => (s.adapter === null ? [] : [s.adapter])), ...(mixed ? [mixed] : [])],
      capabilities: trained.map((s) => s.capability),
      evaluation,
      router,
    },
  ]);
}

/** Waits for an approval. False when its deadline passes. */
async function isApproved(run: Run, isFirst: boolean): Promise<boolean> {
  const { table, input, early } = run;
  if (run.approved) return true;
  const why = isFirst
    ? "The gate is passed and the agent's owner wants to approve"
    : 'Another version has become active since it was approved. The gate is passed against that one, too: approve it';
  table.update({ key: 'promote', text: '', waitingFor: `${why}: whet approve ${input.runId}`, who: 'approval' });
  await condition(() => run.approved || early.approval !== null);
  table.update({ key: 'promote', text: '', waitingFor: null });
  return run.approved;
}

/** Refuses an approval before there is a result to approve. An approval that was given already may be given again. */
export function requireApprovalAsked({ table, approved, input }: Run): void {
  if (approved || table.waiting.some(({ who }) => who === 'approval')) return;
  throw ApplicationFailure.nonRetryable(
    `${input.runId} does not ask for an approval: it is in stage ${table.current}. Where gate.approval is true, ` +
      'it asks when the gate is passed.',
    'Approve.NotAsked',
  );
}
