import { consensusLabelSchema } from '../../../contracts/artifacts/identification';
import type { WatchedAgent } from '../../../contracts/artifacts/training';
import { type ChatMessage, type Trajectory, trajectorySchema } from '../../../contracts/artifacts/trajectory';
import type { TrainInput } from '../../../contracts/messages/sharpen-stage';
import { openingText } from '../../../routing/opening-text';
import { type ArtifactStore, storedLines } from '../../../store';
import { isTooLongToOpen } from '../../rollout/episode';
import { parseArguments } from '../../rollout/sent-messages';

/** A train task with the base model's rollouts, and whether it calls for one of the capabilities. */
export interface TrainTask {
  seed: number;
  opening: string;
  /** Null: some rollout has no label, and none calls for a capability. */
  callsFor: boolean | null;
  /** By trial. */
  rollouts: { trial: number; samplingSeed: number; success: boolean }[];
}

/** Episodes of each outcome that a trainer repeats before it watches anything. */
const RECORDED_EACH = 4;

/**
 * Reads the base model's rollouts on the train tasks. A task calls for a capability where any of its rollouts is
 * labelled PRESENT or LACKING. Rollouts of other models and of live traffic are left out, and rollouts that no model
 * answered.
 */
export async function readTrainTasks(
  store: ArtifactStore,
  { trajectories, labels }: NonNullable<TrainInput['evidence']>,
  { base, capabilities }: { base: string; capabilities: readonly string[] },
): Promise<{ tasks: TrainTask[]; recorded: WatchedAgent['recorded'] }> {
  const wanted = new Set(capabilities);
  const called = new Map<string, boolean | null>();
  for await (const { trajectoryId, capabilityId, label } of await storedLines(store, consensusLabelSchema)(labels)) {
    if (!wanted.has(capabilityId)) continue;
    called.set(trajectoryId, either(called.get(trajectoryId) ?? false, label === null ? null : label !== 'NA'));
  }
  const tasks = new Map<number, TrainTask>();
  const recorded = { passed: [] as WatchedAgent['recorded'], failed: [] as WatchedAgent['recorded'] };
  for await (const trajectory of await storedLines(store, trajectorySchema)(trajectories)) {
    const { task, model, trial, samplingSeed, success, messages } = trajectory;
    if (task.split !== 'train' || model !== base || !wasAnswered(trajectory)) continue;
    const { seed } = task;
    const known = tasks.get(seed) ?? { seed, opening: openingText(messages), callsFor: false, rollouts: [] };
    known.callsFor = either(known.callsFor, called.get(trajectory.id) ?? null);
    known.rollouts.push({ trial, samplingSeed, success });
    tasks.set(seed, known);
    const like = recorded[success ? 'passed' : 'failed'];
    const steps = like.length < RECORDED_EACH ? stepsOf(messages) : null;
    if (steps !== null) like.push({ seed, steps, reward: trajectory.reward });
  }
  for (const { rollouts } of tasks.values()) rollouts.sort((a, b) => a.trial - b.trial);
  return {
    tasks: [...tasks.values()].sort((a, b) => a.seed - b.seed),
    recorded: [...recorded.passed, ...recorded.failed],
  };
}

/** Whether one of two is true; null where neither is and one is unknown. */
const either = (a: boolean | null, b: boolean | null): boolean | null => {
  if (a === true || b === true) return true;
  return a === null || b === null ? null : false;
};

const wasAnswered = (trajectory: Trajectory): boolean =>
  trajectory.finish !== 'refused' && trajectory.finish !== 'environment-error' && !isTooLongToOpen(trajectory);

/** An episode's turns as requests of the environment; null if a call's arguments are no JSON object. */
function stepsOf(messages: readonly ChatMessage[]): Record<string, unknown>[] | null {
  const steps: Record<string, unknown>[] = [];
  for (const { role, content, tool_calls: calls } of messages) {
    if (role !== 'assistant') continue;
    const sent = (calls ?? []).map(({ function: { name, arguments: text } }) => ({
      name,
      arguments: parseArguments(text),
    }));
    if (sent.some((call) => call.arguments === null)) return null;
    steps.push(sent.length === 0 ? { text: content ?? '' } : { calls: sent });
  }
  return steps;
}
