import { type QueueKind, TASK_QUEUES } from '../../contracts/names';
import type { RepairStep } from '../../contracts/messages/repair';
import { type ArtifactStore, layout } from '../../store';
import { REPEATABLE } from './repeatable';
import type { RunArtifact } from './run-artifacts';
import type { RunHistory, ScheduledActivity } from './run-histories';

/** The plan for making the damaged artifacts of a run again. */
export interface RepairPlan {
  /** Activities to execute again, in the order of the run. */
  steps: PlannedStep[];
  /** Damaged artifacts that no step makes, each with the reason and the remedy. */
  hopeless: { artifact: RunArtifact; reason: string }[];
}

/** An activity to execute again, and the artifacts that it should make. */
export interface PlannedStep {
  activity: ScheduledActivity;
  artifacts: RunArtifact[];
  /** Whether the analyst must be asked again, because the paid answers are missing. */
  asksAgain: boolean;
}

/**
 * Plans the repair of damaged artifacts.
 * @param playsAlike whether the same seed gives the same episode in the agent's own environment.
 */
export async function planRepair(
  store: ArtifactStore,
  { history, playsAlike }: { history: RunHistory; playsAlike: boolean },
  damaged: readonly RunArtifact[],
): Promise<RepairPlan> {
  const steps = new Map<ScheduledActivity, PlannedStep>();
  const plan: RepairPlan = { steps: [], hopeless: [] };
  for (const artifact of damaged) {
    const { origin } = artifact;
    const reason = hopelessReason(artifact, history) ?? (playsAlike ? null : otherEpisodes(artifact));
    if (reason !== null || origin.kind !== 'activity') {
      plan.hopeless.push({ artifact, reason: reason ?? 'Nothing says where it comes from.' });
      continue;
    }
    const step = steps.get(origin.activity);
    if (step === undefined)
      steps.set(origin.activity, {
        activity: origin.activity,
        artifacts: [artifact],
        asksAgain: await asksAgain(store, origin.activity),
      });
    else step.artifacts.push(artifact);
  }
  plan.steps = [...steps.values()].sort((a, b) => a.activity.scheduledAtMs - b.activity.scheduledAtMs);
  return plan;
}

/** Why no step can make an artifact again; null if a step can. */
function hopelessReason({ origin, wanted }: RunArtifact, { activities }: RunHistory): string | null {
  if (origin.kind === 'person') {
    const [, runId, , capabilityId] = wanted.key.split('/');
    return `A person wrote this environment. Give it again: whet env edit ${runId} ${capabilityId} FILE`;
  }
  if (origin.kind === 'other-run') return `Another run made it: whet repair ${origin.runId}`;
  if (origin.kind === 'unknown') return 'No activity of the run has it in its result. Restore it from a backup.';
  const { activity } = origin;
  const isOpen = activities.some(
    (other) =>
      other.open &&
      other.activity === activity.activity &&
      JSON.stringify(other.input) === JSON.stringify(activity.input),
  );
  return isOpen ? 'The run makes it again itself right now. Look again when it has.' : null;
}

/**
 * Why episodes cannot be played again: with a simulated user they are not functions of their seeds, and the artifacts
 * made from the former ones would be about others. Null for what plays none.
 */
const otherEpisodes = ({ origin }: RunArtifact): string | null =>
  origin.kind === 'activity' && REPEATABLE[origin.activity.activity]?.playsOwn
    ? "The agent's environment does not give the same episode for the same seed, so its episodes cannot be made " +
      'again. Restore it from a backup, or start a new run.'
    : null;

/** Whether the work file with the answers of an activity is missing. */
async function asksAgain(store: ArtifactStore, { activity, input }: ScheduledActivity): Promise<boolean> {
  const answers = REPEATABLE[activity]?.answers;
  const runId = (input as { context?: { runId?: string } } | undefined)?.context?.runId;
  if (answers === undefined || runId === undefined) return false;
  const key = layout.work(runId, answers(input as never));
  const name = key.slice(key.lastIndexOf('/') + 1);
  return !(await store.list(key.slice(0, key.lastIndexOf('/')))).includes(name);
}

/** The steps in the form of the workflow's input. */
export function workflowSteps({ steps }: RepairPlan, mayAskAnalyst: boolean): RepairStep[] {
  return steps.map(({ activity: { activity, taskQueue, input, scheduledAtMs } }) => ({
    activity,
    queue: queueOf(taskQueue),
    input,
    repetition: { scheduledAtMs, mayAskAnalyst },
    summary: `again: ${activity}`,
  }));
}

const queueOf = (taskQueue: string): QueueKind =>
  (Object.keys(TASK_QUEUES) as QueueKind[]).find((kind) => TASK_QUEUES[kind] === taskQueue) ?? 'orchestration';
