// tier: unit
import { NONE_LABEL } from '../../contracts/names';
import { fitToolNeeds } from '../../routing/fit/fit-tool-needs';
import { fnv1a } from '../../routing/fnv1a';
import { neededAdapters } from '../../routing/kinds';
import type { LabelledSteps } from '../../routing/labelled-tasks';
import { openLaterTurns } from '../../routing/later-turns';
import type { ReadMessage } from '../../routing/opening-text';
import type { ToolNeedsModel } from '../../routing/router-parts';

jest.mock('../../routing/fnv1a', () => ({
  fnv1a: jest.fn(jest.requireActual<{ fnv1a: typeof fnv1a }>('../../routing/fnv1a').fnv1a),
}));

const call = (...names: string[]): ReadMessage => ({
  role: 'assistant',
  content: null,
  tool_calls: names.map((name) => ({ function: { name } })),
});
const result = (content: string): ReadMessage => ({ role: 'tool', content });

/** An episode of a laboratory: what the label says, and the calls that follow. */
const episode = (seed: number, label: string, calls: string[], labels: LabelledSteps['labels']): LabelledSteps => ({
  ...{ seed, labels },
  later: [
    call('read_label'),
    result(`sample ${seed % 7}: ${label}`),
    ...calls.flatMap((name) => [call(name), result(`${name} done`)]),
  ],
});

/**
 * Cloudy samples need a spin, cracked ones two calls to the ward, moved ones another rack. In every second episode the
 * need is not met; the step that meets it is left out, or, for the rack, takes another argument.
 */
function episodes(count: number): LabelledSteps[] {
  return Array.from({ length: count }, (_, seed) => {
    const met = seed % 2 === 0;
    const shown = met ? ('PRESENT' as const) : ('LACKING' as const);
    const none = { spin: 'NA', ward: 'NA', rack: 'NA' } as const;
    switch (Math.floor(seed / 2) % 5) {
      case 0:
        return episode(seed, 'cloudy', met ? ['spin', 'store'] : ['store'], { ...none, spin: shown });
      case 1:
        return episode(seed, 'cracked', met ? ['call_ward', 'call_ward', 'store'] : ['store'], {
          ...none,
          ward: shown,
        });
      case 2:
        return episode(seed, 'moved', ['store'], { ...none, rack: shown });
      case 3: {
        const both = { ...none, spin: shown, ward: shown };
        return episode(seed, 'cloudy and cracked', met ? ['spin', 'call_ward', 'call_ward'] : ['store'], both);
      }
      default:
        return episode(seed, 'plain', ['store'], none);
    }
  });
}

const fitted = (): Promise<ToolNeedsModel> => fitToolNeeds(episodes(200), ['spin', 'ward', 'rack'], 0.01);

/** The arm after these messages; null: that of the opening. */
async function armAfter(messages: ReadMessage[], opening = NONE_LABEL, served?: string[]): Promise<string | null> {
  const router = { kind: 'mixed' as const, leftOut: [], toolNeeds: await fitted() };
  return openLaterTurns(router, served)!(messages, opening)?.capabilityId ?? null;
}

const looked = [call('read_label'), result('sample 3: cloudy and cracked')];

test('the call that meets a need is learned, with its number', async () => {
  const { needs } = await fitted();
  expect(needs.map(({ capabilityId, metBy }) => [capabilityId, metBy])).toEqual([
    ['spin', { tool: 'spin', calls: 1 }],
    ['ward', { tool: 'call_ward', calls: 2 }],
    // Both ways of storing are the same call.
    ['rack', null],
  ]);
});

test('an episode without a label says nothing, whatever the capability is called', async () => {
  const { needs } = await fitToolNeeds(episodes(200), ['constructor', 'nothing'], 0.01);
  const [odd, plain] = needs.map(({ model, metBy }) => ({ model, metBy }));
  expect(odd).toEqual(plain);
});

test('few episodes tell no call', async () => {
  const { needs } = await fitToolNeeds(episodes(8), ['spin'], 0.01);
  expect(needs[0]!.metBy).toBeNull();
});

test.each([
  ['nothing was looked at', [call('read_label')], null],
  ['a plain sample', [call('read_label'), result('sample 3: plain')], null],
  ['a cloudy one', [call('read_label'), result('sample 3: cloudy')], 'spin'],
  ['the need is met', [call('read_label'), result('sample 3: cloudy'), call('spin'), result('spin done')], null],
  ['the first of two is met', [...looked, call('spin'), result('spin done')], 'ward'],
  ['the second takes two calls', [...looked, call('spin'), result('spin done'), call('call_ward')], 'ward'],
  ['both are met', [...looked, call('spin'), call('call_ward'), call('call_ward'), result('call_ward done')], null],
  ['both in one answer', [...looked, call('spin', 'call_ward', 'call_ward')], null],
  ['the user says the word', [call('say'), { role: 'user', content: 'it is cloudy' }], null],
  ['another need after one that no call meets', [result('sample: moved'), result('sample: cracked')], 'ward'],
] as [string, ReadMessage[], string | null][])('%s', async (_, messages, arm) => {
  expect(await armAfter(messages)).toBe(arm);
});

test('a mixed adapter hands over, and only to adapters that are served', async () => {
  expect(['spin', 'ward']).toContain(await armAfter(looked, 'mixed'));
  expect(await armAfter(looked, 'mixed', ['mixed', 'ward'])).toBe('ward');
  expect(await armAfter(looked, 'mixed', ['mixed'])).toBeNull();
});

test('its adapters are among those that the router needs', async () => {
  const router = { kind: 'mixed' as const, leftOut: ['rack'], toolNeeds: await fitted() };
  expect(neededAdapters(router)).toEqual(['mixed', 'spin', 'ward']);
});

/** Reads conversations, and counts the words that each reading hashes. */
async function counting() {
  const router = { kind: 'mixed' as const, leftOut: [], toolNeeds: await fitted() };
  const reader = openLaterTurns(router)!;
  return (messages: ReadMessage[]): { arm: string | null; words: number } => {
    const hash = jest.mocked(fnv1a).mockClear();
    const arm = reader(messages, NONE_LABEL)?.capabilityId ?? null;
    return { arm, words: hash.mock.calls.length };
  };
}

test('a request reads only the results that are new', async () => {
  const read = await counting();
  const messages = Array.from({ length: 40 }, (_, i) => [call('read_label'), result(`sample ${i}: plain`)]).flat();
  expect(read(messages).words).toBeGreaterThan(40);
  expect(read(messages).words).toBe(0);
  const next = read([...messages, call('read_label'), result('sample 40: cloudy')]);
  // Three words and two pairs.
  expect(next).toEqual({ arm: 'spin', words: 5 });
});

test('the results that are read have a bounded length in all, counted from the newest', async () => {
  const read = await counting();
  const long = (i: number) => result(`${i} ${'plain '.repeat(400)}`);
  const many = Array.from({ length: 200 }, (_, i) => long(i));
  // 25 beginnings of 2,000 characters, with fewer than 334 words and as many pairs.
  expect(read(many).words).toBeLessThan(25 * 2 * 334);
  expect(read([result('sample 3: cloudy'), ...many.slice(0, 24)]).arm).toBe('spin');
  expect(read([result('sample 3: cloudy'), ...many.slice(0, 26)]).arm).toBeNull();
});

test('a long conversation with hostile results is read in bounded time and text', async () => {
  const hostile = [...looked, ...Array.from({ length: 5_000 }, () => result('cloudy '.repeat(3_000)))];
  expect(await armAfter(hostile)).toBe('spin');
});
