// tier: unit
import { differingTasks } from '../../../activities/evaluate/differing-tasks';
import type { ArtifactRef } from '../../../contracts/artifacts/artifact-ref';
import type { CompareInput } from '../../../contracts/messages/evaluate-stage';
import { fitVocabulary, openingVectors } from '../../../routing/opening-features';
import { putJson, putLines } from '../../../store';
import { RunFixture } from '../run-fixture';

const vocabulary = fitVocabulary(['stamp', 'stamp', 'weigh', 'weigh']);
const needs = ['stamp', 'weigh'].map((capabilityId) => ({
  capabilityId,
  model: { bias: -2, weights: { positions: openingVectors(vocabulary)(capabilityId).positions, values: [12] } },
}));
const router = {
  kind: 'labels',
  leftOut: [],
  vocabulary,
  needs,
  severalNeeds: { vocabulary, needs, threshold: 0.5 },
  laterTurns: { reads: 'user', vocabulary, needs, threshold: 0.7 },
};
const trained = ['stamp', 'weigh', 'mixed'].map((capabilityId) => ({
  ...{ name: `${capabilityId}@1`, capabilityId, key: capabilityId, sha256: '1'.repeat(64) },
}));
const SEEDS = [1, 2, 3];

/** A conversation that asks for a stamp at its second turn. */
const conversation = (seed: number) => ({
  ...{ id: 'a'.repeat(64), task: { seed, split: 'held-out' }, trial: 0, model: 'base', samplingSeed: 1 },
  messages: [
    { role: 'user', content: 'weigh it and more' },
    { role: 'assistant', content: 'done' },
    { role: 'user', content: 'stamp' },
    { role: 'assistant', content: 'done' },
  ],
  ...{ reward: 1, success: true, finish: 'done', steps: 1, tags: [], diagnostics: {} },
  usage: { promptTokens: 0, completionTokens: 0, cachedTokens: 0 },
});

describe('how many tasks get another adapter than from the active version', () => {
  let fixture: RunFixture;
  beforeEach(() => (fixture = new RunFixture()));
  afterEach(() => fixture.dispose());

  /** Between a candidate and an active version that are alike, with the mixed adapter for these tasks. */
  async function differing(toMixed: readonly number[]): Promise<number> {
    const { store } = fixture;
    const records = SEEDS.map((seed) => ({
      ...{ seed, capabilityId: toMixed.includes(seed) ? 'mixed' : 'weigh', probabilities: [1], coveredMass: null },
    }));
    const routing = await putLines(store, 'runs/run-1/evaluation', 'routing.jsonl', records);
    const ref = await putJson(store, 'runs/run-1/evaluation', 'router.json', router);
    const trajectories = await putLines(store, 'runs/run-1/evaluation', 'arm.jsonl', SEEDS.map(conversation));
    const input = {
      adapters: trained.slice(0, 2),
      mixed: trained[2],
      router: ref,
      arms: [{ arm: 'routed', kind: 'routed', rollouts: { trajectories } }],
    } as unknown as CompareInput;
    const incumbent = { version: 1, runId: 'run-0', adapters: trained, capabilities: [], router: ref, routing };
    return differingTasks(store, input, incumbent satisfies { routing: ArtifactRef }, records);
  }

  it('is none when both serve the same, also where conversations stay with the mixed adapter', async () => {
    expect(await differing([])).toBe(0);
    expect(await differing([1, 3])).toBe(0);
  });
});
