// tier: unit (simulated agents)
import { judgePairs } from '../../../../activities/identify/experiments/judge-pairs';
import { sidesOf } from '../../../../activities/identify/experiments/plan-pairs';
import { Intervening, type Intervention } from '../../../../activities/rollout/intervention';
import type { ChatAnswer } from '../../../../activities/rollout/model-client';
import { type RandomSource, randomSource } from '../../../../activities/statistics/random';

/** The reward asks for `cause` alone. */
const SOLUTION = ['look', 'decoy', 'cause', 'tell'].map((name) => ({ name, arguments: {} }));

const answer = (name: string): ChatAnswer => ({
  ...{ content: null, reasoning: null, cut: false, toolCalls: [{ name, arguments: '{}' }] },
  ...{ promptTokens: 0, completionTokens: 0, firstToken: [], fingerprint: null },
});

/** How an agent comes to leave out `decoy` and `cause`, always both or neither where it decides about both at once. */
const AGENTS = ['by the mood of an episode', 'by a draw in each turn', 'by a draw that no seed repeats'] as const;

/** Plays an episode and says whether it succeeds. Now and then it fails for another reason. */
async function succeeds(
  kind: (typeof AGENTS)[number],
  samplingSeed: number,
  intervention: Pick<Intervention, 'forced' | 'forbidden'>,
  fresh: RandomSource,
): Promise<boolean> {
  const intervening = new Intervening({ ...intervention, solution: SOLUTION }, false);
  const made = new Set<string>();
  const isCareless = (turn: number): boolean => {
    if (kind === 'by a draw that no seed repeats') return fresh.uniform() < 0.6;
    return randomSource(samplingSeed + (kind === 'by the mood of an episode' ? 0 : 7 * turn)).uniform() < 0.6;
  };
  for (let turn = 0; !made.has('tell'); turn++) {
    const given = await intervening.answer(turn, async (sample) => {
      // A third of the tasks begin without a look, so that not every call of the solution comes before the step.
      if (!made.has('look') && samplingSeed % 3 > 0) return answer('look');
      const open = ['decoy', 'cause'].filter((name) => !made.has(name));
      return answer(open.length === 0 || isCareless(sample) ? 'tell' : open[0]!);
    });
    for (const { name } of given.toolCalls) made.add(name);
    if (given.toolCalls.length === 0) break;
  }
  return made.has('cause') && randomSource(samplingSeed + 1).uniform() < 0.9;
}

/** Shares of the findings about a step in many experiments of up to 50 pairs, which are judged after every 8. */
async function experiments(kind: (typeof AGENTS)[number], tool: string, held: string[]) {
  const runs = 150;
  const found = { effect: 0, 'no-effect': 0, undecided: 0 };
  const fresh = randomSource(3);
  for (let run = 0; run < runs; run++) {
    const { withStep, without } = sidesOf({ step: 'forced', tools: [tool], held });
    const counts = { pairs: 0, intervened: 0, passedWith: 0, better: 0, worse: 0 };
    let finding: keyof typeof found = 'undecided';
    while (finding === 'undecided' && counts.pairs < 48) {
      for (let i = 0; i < 8; i++) {
        const seed = run * 1_000 + counts.pairs * 13;
        const first = await succeeds(kind, seed, withStep, fresh);
        const second = await succeeds(kind, seed, without, fresh);
        counts.pairs++;
        counts.intervened++;
        if (first) counts.passedWith++;
        if (first && !second) counts.better++;
        if (second && !first) counts.worse++;
      }
      finding = judgePairs(counts, { experiments: 2, error: 0.05, least: 0.1, margin: 0.2 });
    }
    found[finding]++;
  }
  return { effect: found.effect / runs, none: found['no-effect'] / runs };
}

describe.each(AGENTS)('an agent that is careless %s', (kind) => {
  test('a cause is found, and a decoy is not, where the step of the other is put in', async () => {
    expect((await experiments(kind, 'cause', ['decoy'])).effect).toBeGreaterThan(0.95);
    const decoy = await experiments(kind, 'decoy', ['cause']);
    expect(decoy.effect).toBeLessThanOrEqual(0.05);
    expect(decoy.none).toBeGreaterThan(0.5);
  });

  test('a cause is found where nothing is known of the other', async () => {
    expect((await experiments(kind, 'cause', [])).effect).toBeGreaterThan(0.95);
  });
});

test('a decoy that nothing is known of the cause of is not kept where the mood decides', async () => {
  expect((await experiments('by the mood of an episode', 'decoy', [])).effect).toBeLessThanOrEqual(0.05);
});
