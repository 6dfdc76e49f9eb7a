// tier: unit
import {
  bytes,
  compact,
  decimal,
  duration,
  percent,
  points,
  pointsRange,
  sentenceList,
} from '../../../activities/html/format';

describe('numbers as text', () => {
  it('have real minus signs, thin spaces and units', () => {
    expect(percent(0.341)).toBe('34.1\u202f%');
    expect(points(-0.0004)).toBe('+0.0');
    expect(points(-0.12)).toBe('\u221212.0');
    expect(pointsRange({ low: -0.01, high: 0.2 })).toBe('\u22121.0 to +20.0');
    expect(decimal(-0.5)).toBe('\u22120.50');
    expect([0, 8.42, 59, 120, 185, 7800].map(duration)).toEqual([
      '0\u202fs',
      '8.4\u202fs',
      '59\u202fs',
      '2\u202fmin',
      '3\u202fmin 05\u202fs',
      '2\u202fh 10\u202fmin',
    ]);
    expect([950, 12_345, 4_500_000].map(compact)).toEqual(['950', '12.3k', '4.5M']);
    expect(bytes(1234)).toBe('1.2\u202fkB');
    expect([[], ['a'], ['a', 'b', 'c']].map(sentenceList)).toEqual(['none', 'a', 'a, b and c']);
  });
});
