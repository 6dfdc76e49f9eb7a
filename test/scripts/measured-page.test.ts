// tier: unit
import { figuresOf, updatedPage } from '../../scripts/measured-page';

describe('a row that is measured again', () => {
  const result = {
    share: 0.0142,
    calls: 20_006,
    gain: { estimate: 0.377, low: -0.0338, high: 0.417 },
    seeds: [
      { seed: 1, base: 0.4, mixed: null },
      { seed: 2, base: 0.5, mixed: { estimate: 0.25 } },
    ],
    worlds: { desk: { base: 0.5 } },
  };
  const made = (figures: string, each?: string, id = 'a') => [
    ...figuresOf([{ id, figures, ...(each !== undefined && { each }) }], result),
  ];

  it('has the numbers of the result', () => {
    expect(made('{calls} calls, {share%} and {share%2}, {gain+}, {seeds[].base%}')).toEqual([
      ['a', '20,006 calls, 1.4 % and 1.42 %, +37.7 [-3.4, +41.7], 45.0 %'],
    ]);
  });

  it('has a row for each element of a list or an object', () => {
    expect(made('{base%}, {mixed%}', 'seeds', 's-{seed}')).toEqual([
      ['s-1', '40.0 %, –'],
      ['s-2', '50.0 %, 25.0 %'],
    ]);
    expect(made('{base%}', 'worlds', 'w-{key}')).toEqual([['w-desk', '50.0 %']]);
  });

  it('is refused where the result lacks a member', () => {
    expect(() => made('{tasks}')).toThrow('The result of the bench has no tasks.');
  });

  it('takes the place of the old one, and nothing else changes', () => {
    const page = 'Words.\n\n| <a id="a"></a>a | old | c | d | m | – |\n| <a id="b"></a>b | same | c | d | m | – |\n';
    const measurement = { command: 'make', date: '1 May', machine: '2 cores', commit: 'abc' };
    const figures = new Map([
      ['a', 'new'],
      ['z', 'no row'],
    ]);
    expect(updatedPage(page, figures, measurement)).toEqual({
      page: page.replace('| old | c | d | m | – |', '| new | make | 1 May | 2 cores | abc |'),
      missing: ['z'],
    });
  });
});
