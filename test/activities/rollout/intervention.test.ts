// tier: unit
import { Intervening, type Intervention, seedOfTurn } from '../../../activities/rollout/intervention';
import type { ChatAnswer } from '../../../activities/rollout/model-client';
import type { EnvironmentMove } from '../../../contracts/messages/environment-protocol';

const call = (name: string, of = 0): EnvironmentMove => ({ name, arguments: { of } });
/** An agent's answer: calls by the names of their tools, or a text. */
const answer = (...tools: string[]): ChatAnswer => ({
  ...{ content: tools.length === 0 ? 'done' : null, reasoning: null, cut: false },
  toolCalls: tools.map((name) => ({ name, arguments: '{"own":1}' })),
  ...{ promptTokens: 10, completionTokens: 5, firstToken: [], fingerprint: null },
});

/**
 * Plays turns whose samples are given by their sampling seeds. Returns what each turn does: a call that was put in has
 * `!`, a text is `-`.
 */
async function play(
  intervention: Partial<Intervention> & Pick<Intervention, 'solution'>,
  samples: ChatAnswer[],
  { turns = samples.length, hasSay = false } = {},
) {
  const intervening = new Intervening({ forced: [], forbidden: [], ...intervention }, hasSay);
  const seeds: number[] = [];
  const made: string[][] = [];
  let tokens = 0;
  for (let turn = 0; turn < turns; turn++) {
    const given = await intervening.answer(turn, async (seed) => {
      seeds.push(seed);
      return samples[Math.min(seeds.length, samples.length) - 1]!;
    });
    tokens += given.promptTokens;
    made.push(
      given.toolCalls.length === 0
        ? ['-']
        : given.toolCalls.map(({ name, arguments: text }) => (text === '{"own":1}' ? name : `${name}!`)),
    );
  }
  return { made, seeds, tokens, intervened: intervening.intervened };
}

const SOLUTION = [call('look'), call('check'), call('act'), call('tell')];

describe('a forced call', () => {
  const force = (samples: ChatAnswer[], options?: { turns?: number; hasSay?: boolean }) =>
    play({ solution: SOLUTION, forced: ['check'] }, samples, options);

  test('is a turn of its own once the calls before it are made, and the agent keeps its seeds', async () => {
    const { made, seeds, intervened, tokens } = await force([answer('look'), answer('act'), answer('tell')], {
      turns: 4,
    });
    expect(made).toEqual([['look'], ['check!'], ['act'], ['tell']]);
    expect(seeds).toEqual([0, 1, 2]);
    expect([intervened, tokens]).toEqual([['check'], 30]);
  });

  test('comes first where the solution begins with it', async () => {
    const { made } = await play({ solution: SOLUTION, forced: ['look'] }, [answer('act')], { turns: 2 });
    expect(made).toEqual([['look!'], ['act']]);
  });

  test('comes before an action that the solution has only after it, which stays the same', async () => {
    const { made, seeds } = await force([answer('act'), answer('tell')]);
    expect(made).toEqual([['check!', 'act'], ['tell']]);
    expect(seeds).toEqual([0, 1]);
  });

  test('stands between the calls of one answer', async () => {
    expect((await force([answer('look', 'act')])).made).toEqual([['look', 'check!', 'act']]);
  });

  test('comes before a text that ends the episode, and the text follows without another sample', async () => {
    const { made, seeds, tokens } = await force([answer()], { turns: 2 });
    expect(made).toEqual([['check!'], ['-']]);
    expect([seeds, tokens]).toEqual([[0], 10]);
    expect((await force([answer()], { hasSay: true })).made).toEqual([['-']]);
  });

  test('is not put in where the agent makes it', async () => {
    expect(await force([answer('look', 'check', 'act')])).toMatchObject({
      made: [['look', 'check', 'act']],
      intervened: [],
    });
    expect((await force([answer('check'), answer('look'), answer('act')])).made.flat()).not.toContain('check!');
  });

  test('is put in as often as the solution has it, in its order', async () => {
    const solution = [call('check', 1), call('act'), call('check', 2), call('tell')];
    const { made } = await play({ solution, forced: ['check'] }, [answer('act'), answer('tell')], { turns: 4 });
    expect(made).toEqual([['check!'], ['act'], ['check!'], ['tell']]);
  });

  test('follows another one at once', async () => {
    const { made, intervened } = await play({ solution: SOLUTION, forced: ['act', 'check'] }, [answer('look')], {
      turns: 2,
    });
    expect(made).toEqual([['look'], ['check!', 'act!']]);
    expect(intervened).toEqual(['check', 'act']);
  });

  test('is none where the solution has none', async () => {
    expect(await play({ solution: [], forced: ['check'] }, [answer('look')])).toMatchObject({ intervened: [] });
  });
});

describe('a forbidden call', () => {
  const forbid = (...samples: ChatAnswer[]) =>
    play({ solution: SOLUTION, forbidden: ['check'] }, samples, { turns: 1 });

  test('is not carried out, and the agent samples again with other seeds, at most three times', async () => {
    expect(await forbid(answer('act'))).toMatchObject({ made: [['act']], seeds: [0], intervened: [] });
    expect(await forbid(answer('check'), answer('act'))).toMatchObject({
      ...{ made: [['act']], seeds: [0, 1_000_003], tokens: 20, intervened: ['check'] },
    });
    const stubborn = await forbid(answer('check'));
    expect(stubborn).toMatchObject({ made: [['-']], tokens: 40 });
    expect(new Set(stubborn.seeds).size).toBe(4);
    expect(stubborn.seeds).toHaveLength(4);
  });

  test('leaves the other calls of the last sample', async () => {
    expect((await forbid(answer('look', 'check', 'act'))).made).toEqual([['look', 'act']]);
  });
});

test('what ends the conversation is handed on', async () => {
  const fault = new Error('too long');
  const intervening = new Intervening({ solution: SOLUTION, forced: [], forbidden: ['check'] }, false);
  expect(await intervening.answer(0, async () => fault)).toBe(fault);
});

test('seeds of further samples have 31 bits', () => {
  expect(seedOfTurn(2 ** 31 - 1, 2)).toBe(2 ** 31 + 1);
  expect(seedOfTurn(2 ** 31 - 1, 1_000_003)).toBe(1_000_002);
});
