/**
 * A made-up evaluation for tests: real statistics over outcomes drawn from known pass probabilities. No agent was run.
 */
import { evaluateTable } from '../../../activities/evaluate/evaluate-table';
import type { Evaluation, RoutingRecord } from '../../../contracts/artifacts/evaluation';
import type { EvaluationPlan } from '../../../contracts/artifacts/evaluation-plan';
import type { RouterChoice } from '../../../contracts/artifacts/router-choice';
import type { TrainedAdapter } from '../../../contracts/artifacts/training';
import { randomSource } from '../../../activities/statistics/random';
import { drawTable, type Kind } from './population';

/** A capability as the made-up analyst names it, with the tag of the tasks that need it. */
export interface SampleSkill {
  id: string;
  name: string;
  summary: string;
  tag: string;
  /** Chance of base and of its own adapter on its tasks. */
  base: number;
  trained: number;
}

export const SKILLS: readonly SampleSkill[] = [
  {
    id: 'identity-verification',
    name: 'Identity verification before refunds',
    summary: 'verify who is asking before any refund',
    tag: 'verify-before-refund',
    base: 0.2,
    trained: 0.82,
  },
  {
    id: 'order-status-check',
    name: 'Order status check before cancelling',
    summary: 'look up the order status before cancelling it',
    tag: 'status-before-cancel',
    base: 0.19,
    trained: 0.96,
  },
  {
    id: 'complete-crediting',
    name: 'Crediting every item named',
    summary: 'credit every item the customer names',
    tag: 'credit-every-item',
    base: 0.24,
    trained: 0.98,
  },
  {
    id: 'postal-code',
    name: 'Postal code in address changes',
    summary: 'append the postal code to a new address',
    tag: 'append-postal-code',
    base: 0.22,
    trained: 0.97,
  },
];

export const sampleAdapter = (
  skill: Pick<SampleSkill, 'id'>,
  i = 0,
): Pick<TrainedAdapter, 'name' | 'capabilityId' | 'sha256' | 'key'> => {
  const sha256 = `${(i + 10).toString(16)}${'5e'.repeat(32)}`.slice(0, 64);
  return {
    name: `${skill.id}@${sha256.slice(0, 12)}`,
    capabilityId: skill.id,
    sha256,
    key: `adapters/orders-desk/${skill.id}-${sha256.slice(0, 12)}`,
  };
};

/** Share of decisions that the made-up router gets wrong. */
const MISROUTED = 0.06;

/** `tasks` held-out tasks, two trials, four adapters and a mixed one. */
export function sampleEvaluation(tasks = 240, seed = 3): Evaluation {
  const adapters = SKILLS.map((skill, i) => sampleAdapter(skill, i) as TrainedAdapter);
  const pass = (base: number, own: string | null, trained: number, mixed: number, routed: number) => ({
    base,
    ...Object.fromEntries(
      adapters.map((adapter) => [adapter.name, adapter.capabilityId === own ? trained : base * 0.85]),
    ),
    mixed,
    routed,
  });
  const kinds: Kind[] = [
    ...SKILLS.map(({ id, tag, base, trained }) => ({
      share: 0.17,
      tags: [tag],
      pass: pass(base, id, trained, 0.55, trained * (1 - MISROUTED)),
    })),
    { share: 0.08, tags: ['status-before-cancel', 'verify-before-refund'], pass: pass(0.05, null, 0, 0.2, 0.14) },
    { share: 0.24, tags: [], pass: pass(0.97, null, 0, 0.94, 0.96) },
  ];
  const table = drawTable(kinds, tasks, 2, seed);
  const random = randomSource(seed + 1);
  const choices = [...SKILLS.map((skill) => skill.id), 'none'];
  const routing = table.seeds.map((taskSeed, task): RoutingRecord => {
    const right = SKILLS.find((skill) => table.tags[task]?.includes(skill.tag))?.id ?? 'none';
    const chosen = random.uniform() < MISROUTED ? choices[random.below(choices.length)]! : right;
    return {
      seed: taskSeed,
      capabilityId: chosen,
      probabilities: choices.map((choice) => (choice === chosen ? 0.9 : 0.1 / (choices.length - 1))),
      coveredMass: 0.94,
    };
  });
  const capabilities = SKILLS.map(({ id, name, summary }) => ({ id, name, summary }));
  return evaluateTable(table, {
    capabilities,
    adapters,
    routing,
    routerChoice: sampleRouterChoice(),
    allOf: 2,
    plan: samplePlan({ tasks }),
    judging: samplePlan().judging,
    readsTags: true,
    bootstrapSamples: 1000,
    confidence: 0.95,
    seed,
  });
}

/** What a run without an active version may be judged by. */
export const samplePlan = (more: Partial<EvaluationPlan> = {}): EvaluationPlan => ({
  tasks: 300,
  trials: 2,
  basePassRate: 0.4,
  minimumDetectableGain: 0.08,
  power: 0.8,
  active: null,
  noIncumbent: null,
  canary: null,
  judging: { against: null, comparison: 1, confidence: 0.95 },
  ...more,
});

/** How a router may have been chosen: `labels`, with one adapter left out. */
export function sampleRouterChoice(): RouterChoice {
  const row = (kind: RouterChoice['chosen'], gain: number, behind: number, left: boolean) => ({
    kind,
    gain,
    standardError: 0.03,
    behind,
    behindError: 0.01,
    routed: kind === 'base' ? 0 : 0.7,
    left,
  });
  return {
    chosen: 'labels',
    pinned: false,
    trainTasks: 300,
    compared: 240,
    rollouts: 480,
    budget: 500,
    competitors: [row('base', 0, 0.4, true), row('labels', 0.39, 0.005, false), row('logits', 0.395, 0, false)],
    adapters: SKILLS.map(({ id }, i) => ({
      capabilityId: id,
      tasks: 40,
      gain: i === 0 ? -0.02 : 0.6,
      leftOut: i === 0,
    })),
    reliability: {
      tasks: 300,
      right: 0.94,
      error: 0.03,
      steps: [
        { from: 0.5, to: 0.6, tasks: 60, meanProbability: 0.56, right: 0.8 },
        { from: 0.9, to: 1, tasks: 240, meanProbability: 0.97, right: 0.98 },
      ],
    },
  };
}
