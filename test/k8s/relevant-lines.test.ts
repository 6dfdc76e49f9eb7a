// Tier: unit.
import { relevantLines } from '../../k8s/relevant-lines';

const size = { lines: 6, characters: 400 };

test('warnings are left out, with the source line below them', () => {
  const log = [
    '/opt/x/torch/foo.py:12: FutureWarning: `bar` is deprecated',
    '  self.bar(1)',
    'loading',
    'UserWarning: slow',
    '',
    'killed',
  ].join('\n');
  expect(relevantLines(log, size)).toBe('loading\nkilled');
});

test('they begin with the last traceback, or with the last sentence of the trainer', () => {
  const trace = ['noise', 'Traceback (most recent call last):', '  File "x.py", line 1', 'KeyError: 1'];
  expect(relevantLines(trace.join('\n'), size)).toBe(trace.slice(1).join('\n'));
  const sentence = [...trace, 'whetstone.train: the environment failed'];
  expect(relevantLines(sentence.join('\n'), size)).toBe('whetstone.train: the environment failed');
});

test('what is too long loses its beginning', () => {
  expect(relevantLines('abcdef\nghi', { lines: 6, characters: 5 })).toBe('…f\nghi');
  expect(relevantLines('1\n2\n3', { lines: 2, characters: 9 })).toBe('2\n3');
});
