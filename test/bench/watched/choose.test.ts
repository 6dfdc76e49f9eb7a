// tier: unit
import { choose } from '../../../bench/watched/choose';

const named = (only?: string[]) =>
  choose(only).map(({ fixture: { set, name }, round }) => ({ set, name, round, id: `${set} ${name} ${round}` }));

describe('the trainings of the measurement', () => {
  it('are in ten wrong environments of every capability, and twenty in good ones', () => {
    const all = named();
    expect(all.filter(({ set }) => set === 'wrong')).toHaveLength(10);
    expect(all.filter(({ set }) => set === 'good')).toHaveLength(20);
    expect(new Set(all.map(({ id }) => id)).size).toBe(30);
    const capabilities = choose(undefined).flatMap(({ fixture }) =>
      fixture.set === 'wrong' ? fixture.capability : [],
    );
    expect(new Set(capabilities).size).toBe(4);
  });

  it('are those that are asked for, once', () => {
    expect(named(['far-away-names', 'honest/append-postal-code']).map(({ id }) => id)).toEqual([
      'wrong far-away-names 1',
      'good honest/append-postal-code 1',
    ]);
  });

  it('are refused by name', () => {
    expect(() => choose(['all-gone', 'nothing'])).toThrow(/^--only nothing: one of .*all-gone/);
    // Its agent has no model.
    expect(() => choose(['written-answers'])).toThrow(RangeError);
  });
});
