// tier: unit
import { laterTexts, openLaterTurns } from '../../routing/later-turns';
import { fitVocabulary, openingVectors } from '../../routing/opening-features';
import { MIXED, NONE_LABEL } from '../../contracts/names';
import type { Router } from '../../routing/kinds';
import type { ReadMessage } from '../../routing/opening-text';

const vocabulary = fitVocabulary(['stamp it', 'stamp this', 'weigh it', 'weigh this']);
const need = (capabilityId: string, word: string) => ({
  capabilityId,
  model: { bias: -2, weights: { positions: openingVectors(vocabulary)(word).positions, values: [9] } },
});
const router = (leftOut: string[] = []): Router => ({
  kind: 'labels',
  leftOut,
  vocabulary,
  needs: [],
  laterTurns: {
    reads: 'user',
    vocabulary,
    needs: [need('stamping', 'stamp'), need('weighing', 'weigh')],
    threshold: 0.7,
  },
});
const user = (content: string) => ({ role: 'user', content });
const agent = { role: 'assistant', content: 'stamp it' };
const opening = [user('stamp it'), agent];

describe('later messages', () => {
  it('are those after the first answer, of the roles that are read, cut, and bounded in all', () => {
    const all = [...opening, { role: 'tool', content: 'weighed' }, user('x'.repeat(9_000)), agent];
    expect(laterTexts(all, 'user')).toEqual(['x'.repeat(2_000)]);
    expect(laterTexts(all, 'user-and-tools')).toEqual(['weighed', 'x'.repeat(2_000)]);
    expect(laterTexts([user('one'), user('two')], 'user')).toEqual([]);
    const many = Array.from({ length: 40 }, (_, i) => user(`turn ${i}`));
    expect(laterTexts([...opening, ...many], 'user')).toEqual(many.map(({ content }) => content));
    const long = Array.from({ length: 40 }, () => user('x'.repeat(9_000)));
    expect(laterTexts([...opening, ...long], 'user')).toHaveLength(20);
  });

  it('move a conversation to what the newest one calls for, and change nothing where none does', () => {
    const reader = openLaterTurns(router())!;
    const read = (messages: ReadMessage[]) => reader(messages, NONE_LABEL);
    expect(read(opening)).toBeNull();
    expect(read([...opening, user('hello')])).toBeNull();
    expect(read([...opening, user('weigh it')])).toMatchObject({ capabilityId: 'weighing', reason: 'later-turn' });
    expect(read([...opening, user('weigh it'), agent, user('stamp it'), agent, user('hello')])).toMatchObject({
      capabilityId: 'stamping',
    });
  });

  it('keep a conversation where it moved, however much is said that calls for nothing', () => {
    const quiet = Array.from({ length: 200 }, () => user('hello again, and thank you'));
    expect(openLaterTurns(router())!([...opening, user('weigh it'), ...quiet], NONE_LABEL)).toMatchObject({
      capabilityId: 'weighing',
    });
  });

  it('move none to an adapter that is left out or not served, and none where the router does not say so', () => {
    const asked = [...opening, user('weigh it')];
    expect(openLaterTurns(router(['weighing']))!(asked, NONE_LABEL)).toBeNull();
    expect(openLaterTurns(router(), ['stamping'])!(asked, NONE_LABEL)).toBeNull();
    expect(openLaterTurns(router())!(asked, MIXED)).toBeNull();
    expect(openLaterTurns({ kind: 'mixed', leftOut: [] })).toBeNull();
  });
});
