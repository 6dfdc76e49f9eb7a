import { setImmediate } from 'node:timers/promises';
import type { TransferEstimate } from '../../contracts/artifacts/environment-check';
import type { Interval } from '../../contracts/artifacts/evaluation';
import { consensusLabelSchema } from '../../contracts/artifacts/identification';
import { type ChatMessage, type Trajectory, trajectorySchema } from '../../contracts/artifacts/trajectory';
import type { CalibrationInput } from '../../contracts/messages/sharpen-stage';
import { type ArtifactStore, storedLines } from '../../store';
import { wordsOf } from '../environment-checks/words';
import { type RandomSource, randomSource } from '../statistics/random';

/** A task's opening, and the success rate of its rollouts. */
export interface TaskSuccess {
  opening: string;
  success: number;
}

/** Number of synthetic tasks that each prediction uses. */
const NEIGHBOURS = 10;
/** With fewer of the agent's tasks, nothing is estimated. */
const FEWEST_TASKS = 10;
/** Largest number of the agent's tasks: the cost grows with its square. */
const MOST_TASKS = 300;
const RESAMPLES = 500;

/**
 * Estimates how well success on the synthetic tasks predicts success on the agent's tasks, for the base model. The
 * agent's tasks are the train tasks and live conversations that need the capability, because their label is PRESENT or
 * LACKING. It uses only existing rollouts. Reading all labels and trajectories may take long, so the caller sends
 * heartbeats.
 * @returns null when there are no synthetic trajectories.
 * @throws the signal's reason.
 */
export async function estimateTransfer(
  store: ArtifactStore,
  {
    trajectories,
    labels,
    capability,
    context,
  }: Pick<CalibrationInput, 'trajectories' | 'labels' | 'capability' | 'context'>,
  synthetic: readonly Trajectory[],
  successReward: number,
  signal: AbortSignal,
): Promise<TransferEstimate | null> {
  if (synthetic.length === 0) return null;
  const needing = new Set<string>();
  for await (const { capabilityId, label, trajectoryId } of await storedLines(store, consensusLabelSchema)(labels)) {
    signal.throwIfAborted();
    if (capabilityId === capability.id && (label === 'PRESENT' || label === 'LACKING')) needing.add(trajectoryId);
  }
  const target: Trajectory[] = [];
  for await (const trajectory of await storedLines(store, trajectorySchema)(trajectories)) {
    signal.throwIfAborted();
    if (needing.has(trajectory.id)) target.push(trajectory);
  }
  // The resampling blocks the event loop for a second or two, so pending heartbeats and cancellations run first.
  await setImmediate();
  signal.throwIfAborted();
  return transferOf(successByTask(synthetic, successReward), successByTask(target, successReward), context.seed);
}

/**
 * Estimates transfer from the success rates on synthetic tasks and on the agent's tasks. The prediction for a task of
 * the agent is the mean success of the ten synthetic tasks with the most similar openings (cosine of tf-idf weights),
 * weighted by similarity. Discrimination is Harrell's concordance of predicted and observed success. Intervals are
 * percentiles of a bootstrap over tasks.
 * @param seed seed of the resampling.
 */
export function transferOf(
  synthetic: readonly TaskSuccess[],
  target: readonly TaskSuccess[],
  seed: number,
): TransferEstimate {
  const pairs = predict(synthetic, target.slice(0, MOST_TASKS));
  const varies = new Set(pairs.map(({ observed }) => observed)).size > 1;
  if (pairs.length < FEWEST_TASKS || !varies) {
    const why =
      pairs.length < FEWEST_TASKS
        ? `only ${pairs.length} of the agent's tasks need the capability`
        : "all of the agent's tasks that need the capability end alike";
    return {
      tasks: pairs.length,
      discrimination: null,
      rankCorrelation: null,
      detail: `Nothing can be said about transfer: ${why}.`,
    };
  }
  const random = randomSource(seed);
  const discrimination = bootstrapped(pairs, concordance, random);
  const rankCorrelation = bootstrapped(pairs, spearman, random);
  const range = `${discrimination.low.toFixed(2)} to ${discrimination.high.toFixed(2)}`;
  const meaning =
    discrimination.low > 0.5
      ? 'a task that is hard here is hard there'
      : discrimination.high < 0.5
        ? 'a task that is hard here is easy there'
        : 'these tasks do not show whether the two agree on which tasks are hard';
  const detail =
    `Of two of the agent's ${pairs.length} tasks that need the capability, the one that the environment's tasks ` +
    `predict to succeed more often does so with probability ${discrimination.estimate.toFixed(2)} ` +
    `(${range}): ${meaning}.`;
  return { tasks: pairs.length, discrimination, rankCorrelation, detail };
}

/** Observed and predicted success of one of the agent's tasks, both in [0, 1]. */
interface Pair {
  observed: number;
  predicted: number;
}

function successByTask(trajectories: readonly Trajectory[], successReward: number): TaskSuccess[] {
  const tasks = new Map<number, { opening: string; rewards: number[] }>();
  for (const { task, messages, reward } of trajectories) {
    if (messages.length === 0) continue;
    const known = tasks.get(task.seed) ?? { opening: openingOf(messages), rewards: [] };
    known.rewards.push(reward);
    tasks.set(task.seed, known);
  }
  return [...tasks.values()].map(({ opening, rewards }) => ({
    opening,
    success: rewards.filter((reward) => reward >= successReward).length / rewards.length,
  }));
}

const openingOf = (messages: readonly ChatMessage[]): string =>
  messages.find(({ role }) => role === 'user')?.content ?? '';

/** Each target task with its prediction. All words that are numbers count as the same word. */
function predict(synthetic: readonly TaskSuccess[], target: readonly TaskSuccess[]): Pair[] {
  const read = ({ opening, success }: TaskSuccess) => ({
    success,
    words: new Set(wordsOf(opening).map((word) => (/^\d+$/.test(word) ? '0' : word))),
  });
  const [known, wanted] = [synthetic.map(read), target.map(read)];
  const documents = [...known, ...wanted];
  const frequency = new Map<string, number>();
  for (const { words } of documents) for (const word of words) frequency.set(word, (frequency.get(word) ?? 0) + 1);
  const squares = new Map([...frequency].map(([word, count]) => [word, Math.log(1 + documents.length / count) ** 2]));
  const sumOf = (words: ReadonlySet<string>) => [...words].reduce((sum, word) => sum + (squares.get(word) ?? 0), 0);
  const neighbours = known.map(({ success, words }) => ({ success, words, norm: Math.sqrt(sumOf(words)) }));
  return wanted.map(({ success: observed, words: own }) => {
    const ownNorm = Math.sqrt(sumOf(own));
    const nearest = neighbours
      .map(({ success, words, norm }) => {
        const common = new Set([...own].filter((word) => words.has(word)));
        return { success, similarity: sumOf(common) / (ownNorm * norm || 1) };
      })
      .sort((a, b) => b.similarity - a.similarity)
      .slice(0, NEIGHBOURS);
    const total = nearest.reduce((sum, { similarity }) => sum + similarity, 0);
    const predicted = nearest.reduce(
      (sum, { success, similarity }) => sum + success * (total > 0 ? similarity / total : 1 / nearest.length),
      0,
    );
    return { observed, predicted };
  });
}

/**
 * Harrell's concordance: among all pairs with different observed success, the share that the predictions order
 * correctly. Equal predictions count half. The result is 0.5 if no two tasks differ.
 */
export function concordance(pairs: readonly Pair[]): number {
  let comparable = 0;
  let agreeing = 0;
  for (const [index, a] of pairs.entries()) {
    for (const b of pairs.slice(0, index)) {
      if (a.observed === b.observed) continue;
      comparable++;
      const order = Math.sign(a.observed - b.observed) * (a.predicted - b.predicted);
      agreeing += order > 0 ? 1 : order === 0 ? 0.5 : 0;
    }
  }
  return comparable === 0 ? 0.5 : agreeing / comparable;
}

/** Spearman's rank correlation with mean ranks for ties; 0 if either side does not vary. */
export function spearman(pairs: readonly Pair[]): number {
  const observed = ranks(pairs.map((pair) => pair.observed));
  const predicted = ranks(pairs.map((pair) => pair.predicted));
  const centre = (pairs.length - 1) / 2;
  let [xy, xx, yy] = [0, 0, 0];
  for (const pair of pairs) {
    const a = (observed.get(pair.observed) ?? 0) - centre;
    const b = (predicted.get(pair.predicted) ?? 0) - centre;
    xy += a * b;
    xx += a * a;
    yy += b * b;
  }
  return xx === 0 || yy === 0 ? 0 : xy / Math.sqrt(xx * yy);
}

/** The mean rank of each value, from 0. */
function ranks(values: readonly number[]): Map<number, number> {
  const order = values.toSorted((a, b) => a - b);
  return new Map(values.map((value) => [value, (order.indexOf(value) + order.lastIndexOf(value)) / 2]));
}

/** The statistic with its 95 % percentile interval over resampled tasks. */
function bootstrapped(
  pairs: readonly Pair[],
  statistic: (pairs: readonly Pair[]) => number,
  random: RandomSource,
): Interval {
  const replicates = Array.from({ length: RESAMPLES }, () =>
    statistic(pairs.map(() => pairs[random.below(pairs.length)]!)),
  ).sort((a, b) => a - b);
  return {
    estimate: statistic(pairs),
    low: replicates[Math.floor(0.025 * RESAMPLES)]!,
    high: replicates[Math.ceil(0.975 * RESAMPLES) - 1]!,
  };
}
