import type { CancellationScope } from '@temporalio/workflow';
import type { ImprovementRunInput, RunPlan } from '../../contracts/messages/run';
import type { RunGates } from './run-gates';
import type { RunNotices } from './run-notices';
import type { RunProgressTable } from './run-progress-table';

/** The shared state of one run's stages. */
export interface Run {
  input: ImprovementRunInput;
  table: RunProgressTable;
  gates: RunGates;
  notices: RunNotices;
  /** Parts that may be skipped although they do not wait, each with the function that leaves it out. */
  skippable: Map<string, () => void>;
  /** The scope of the stages: a run that ends early cancels it. */
  stages: CancellationScope;
  early: EarlyEnd;
  /** Set by the update `approve`. */
  approved: boolean;
  /** Null until `prepareRun` has ended. Its context changes with `whet retry RUN --spec`. */
  plan: RunPlan | null;
  /** Id of the identification that runs, or ran last: answers of people go to it. */
  identification: string;
}

/** The waits that ended without an answer in a run. */
interface EarlyEnd {
  /** Why the run ends before its last stage; null while it does not. */
  reason: string | null;
  /** Why nobody can approve any more; null while somebody can. */
  approval: string | null;
  /** Parts that were left out, each with the reason. */
  leftOut: Map<string, string>;
  /** Which open runs a scheduled run started in parallel with, as a sentence; null if none was open. */
  beside: string | null;
}

/** Applies the result of `prepareRun`. */
export function takePlan(run: Run, plan: RunPlan): void {
  run.plan = plan;
  run.table.deadlines = plan.deadlines;
  run.notices.open(plan.notify ? { spec: plan.context.spec, specPath: run.input.specPath } : null);
}
