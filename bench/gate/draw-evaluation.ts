/** Made-up evaluations with known truth. Their tasks differ as the demo's do; no agent is run. */
import { type ArmTable, type OutcomeTable } from '../../activities/evaluate/outcome-table';
import type { EvaluationPlan } from '../../contracts/artifacts/evaluation-plan';
import type { RouterChoice } from '../../contracts/artifacts/router-choice';
import { type RandomSource, randomSource } from '../../activities/statistics/random';

/** What is true of an evaluation. */
export interface Truth {
  tasks: number;
  trials: number;
  /** Whether a version is active. Without one the candidate is compared with base alone. */
  incumbent: boolean;
  /** The candidate's true pass rate minus that of the active version or, without one, of base. */
  gain: number;
  /** Which comparison with the same rival it is: each next one is judged more strictly. Absent: the first. */
  comparison?: number;
}

/** Share of tasks that every router leaves to base: there all arms have the same outcomes, trial by trial. */
const LEFT_TO_BASE = 0.3;

/** Share of the other tasks on which the candidate is another than the active version by the chance of its training. */
const RETRAINED = 0.2;

/** Pass probability of base, uniform: of the demo's tasks a third passes twice, a third once and a third never. */
const baseChance = (random: RandomSource): number => random.uniform();
const BASE_MEAN = 1 / 2;
/** Pass probability of an adapter on the tasks that it is given: three of four pass. */
const adapterChance = (random: RandomSource): number => random.uniform() ** (1 / 3);
const ADAPTER_MEAN = 3 / 4;

/** Draws the outcomes of base, the active version and the candidate on the same tasks. */
export function drawEvaluation({ tasks, trials, incumbent, gain }: Truth, seed: number): OutcomeTable {
  const random = randomSource(seed);
  const arms: Record<'base' | 'incumbent' | 'routed', number[][]> = { base: [], incumbent: [], routed: [] };
  const play = (chance: number) => Array.from({ length: trials }, () => (random.uniform() < chance ? 1 : 0));
  for (let task = 0; task < tasks; task++) {
    const base = baseChance(random);
    const played = play(base);
    arms.base.push(played);
    if (random.uniform() < LEFT_TO_BASE) {
      arms.incumbent.push(played);
      arms.routed.push(played);
      continue;
    }
    const now = incumbent ? adapterChance(random) : base;
    const again = random.uniform() < RETRAINED ? (incumbent ? adapterChance(random) : baseChance(random)) : now;
    arms.incumbent.push(incumbent ? play(now) : played);
    arms.routed.push(play(changed(again, base, { incumbent, gain }, random)));
  }
  const table = new Map<string, ArmTable>();
  for (const name of ['base', 'routed', ...(incumbent ? (['incumbent'] as const) : [])] as const)
    table.set(name, { name, passes: arms[name] });
  table.set(ADAPTER, { name: ADAPTER, passes: arms.routed });
  const seeds = arms.base.map((_, task) => task);
  return { seeds, tags: seeds.map(() => []), trials, arms: table, dropped: 0, failed: 0 };
}

/** Served name of the one adapter. */
export const ADAPTER = 'adapter@000000000000';

/** A gain mends tasks for good, and a loss lets tasks fall back to what base does: both on a share that fits. */
function changed(
  chance: number,
  base: number,
  { incumbent, gain }: Pick<Truth, 'incumbent' | 'gain'>,
  random: RandomSource,
): number {
  const mean = incumbent ? ADAPTER_MEAN : BASE_MEAN;
  const routed = Math.abs(gain) / (1 - LEFT_TO_BASE);
  const share = gain >= 0 ? routed / (1 - mean) : routed / (mean - BASE_MEAN);
  if (random.uniform() >= share) return chance;
  return gain >= 0 ? 1 : base;
}

/** A plan and a router's choice, for evaluations of which only the figures count. */
export const UNREAD: { plan: EvaluationPlan; routerChoice: RouterChoice } = {
  plan: {
    tasks: 0,
    trials: 0,
    basePassRate: 0,
    minimumDetectableGain: 0,
    power: 0,
    active: null,
    noIncumbent: null,
    canary: null,
    judging: { against: null, comparison: 1, confidence: 0 },
  },
  routerChoice: {
    chosen: 'labels',
    pinned: true,
    trainTasks: 0,
    compared: 0,
    rollouts: 0,
    budget: 0,
    competitors: [],
    adapters: [],
  },
};
