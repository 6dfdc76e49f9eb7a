// tier: unit
import { figuresWithout } from '../../../bench/without-exceptions/figures-without';
import { sampleAdapter } from '../../activities/evaluate/sample-evaluation';

const adapter = sampleAdapter({ id: 'a' });
const arm = (name: string, passes: number[]) => ({
  name,
  outcomes: passes.map((pass, task) => ({ task: { seed: 100 + task }, trial: 0, success: pass === 1, tags: [] })),
});
const kinds = new Map([
  ...([100, 101, 102, 103] as const).map((seed) => [seed, 'refund'] as const),
  ...([104, 105] as const).map((seed) => [seed, 'refund-verified'] as const),
]);
const played = {
  arms: [
    arm('base', [0, 0, 1, 0, 1, 1]),
    arm('routed', [1, 1, 1, 0, 1, 1]),
    arm(adapter.name, [1, 1, 1, 0, 0, 0]),
    arm('mixed', [1, 1, 1, 1, 0, 0]),
  ],
  kinds,
  trials: 1,
};
const options = {
  capabilities: [{ id: 'a', name: 'a', summary: 'a' }],
  adapters: [adapter as never],
  routing: [...kinds.keys()].map((seed) => ({ seed, capabilityId: 'a', probabilities: [1], coveredMass: null })),
  ...{ readsTags: false, bootstrapSamples: 1000, confidence: 0.95, seed: 1 },
};

it('leaves out the tasks of the kinds that are named, in every arm', () => {
  const { tasks, base, routed, mixed, routedMinusMixed } = figuresWithout(played, ['refund-verified'], options);
  expect(tasks).toBe(4);
  expect([base, routed, mixed!].map(({ passRate }) => passRate.estimate)).toEqual([1 / 4, 3 / 4, 1]);
  expect(routedMinusMixed!.estimate).toBeCloseTo(-1 / 4, 12);
});

it('with no kind left out it is the evaluation', () => {
  const { tasks, routed, mixed } = figuresWithout(played, [], options);
  expect([tasks, routed.passRate.estimate, mixed!.passRate.estimate]).toEqual([6, 5 / 6, 4 / 6]);
});
