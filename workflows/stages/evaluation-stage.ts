import type { ArtifactRef } from '../../contracts/artifacts/artifact-ref';
import type { TrainedAdapter } from '../../contracts/artifacts/training';
import type {
  ArmRollouts,
  CompareResult,
  EvaluationArmInput,
  HeldOut,
  StoredAdapter,
} from '../../contracts/messages/evaluate-stage';
import type { RunPlan } from '../../contracts/messages/run';
import { sandbox } from '../shared/activities';
import { applicationFailureOf, messageOf } from '../shared/failure-causes';
import { singleLine } from '../shared/single-line';
import type { Run } from '../waits/run';

/** The results of the evaluation stage. */
export interface EvaluationOutcome {
  arms: ArmRollouts[];
  routing: ArtifactRef;
  /** The router that was judged. */
  router: ArtifactRef;
  /** Null where the plan has no mixed adapter, fewer than two were trained, or its training was left out. */
  mixed: TrainedAdapter | null;
  comparison: CompareResult;
  /** Compares the candidate again, if another version has become active since the comparison. */
  judgeAgain: () => Promise<EvaluationOutcome>;
}

/** The parts of its run that the evaluation needs. */
export interface EvaluationStage extends Pick<Run, 'gates' | 'skippable'> {
  plan: RunPlan;
  /** JSONL of Trajectory: the base model on the train tasks. */
  trajectories: ArtifactRef;
  /** Share of these rollouts that failed. Absent: none. */
  failed?: number;
  /** The held-out tasks and trials that every arm plays. */
  heldOut: HeldOut;
  /** Capabilities whose adapter the candidate does without, because the night asked for it. */
  retires?: string[] | undefined;
  /** Shows the stage's current work in one line. */
  show: (text: string) => void;
}

/** Longest reason for a left-out arm in the report, in characters. */
const MAX_REASON = 500;

/** How an arm with several adapters assigns tasks to them. */
type Routed = Partial<Pick<EvaluationArmInput, 'routing' | 'router' | 'incumbent'>>;

/** Plays one arm on the held-out tasks. */
export function rollOut(
  { plan: { context }, heldOut }: EvaluationStage,
  arm: string,
  kind: EvaluationArmInput['kind'],
  adapters: StoredAdapter[],
  { routing = null, router, incumbent }: Routed = {},
): Promise<ArmRollouts> {
  return sandbox.rollOutArm.executeWithOptions({ summary: `held-out rollouts: ${arm}` }, [
    {
      context,
      arm,
      kind,
      adapters,
      routing,
      heldOut,
      ...(router && { router }),
      ...(incumbent && { incumbent: { version: incumbent.version, runId: incumbent.runId } }),
    },
  ]);
}

/** Why an arm was left out, for the report. */
export function reasonOf(error: unknown, skipped: boolean): string {
  if (skipped) return 'A person skipped it.';
  return `${applicationFailureOf(error)?.type || 'Error'}: ${singleLine(messageOf(error), MAX_REASON)}`;
}
