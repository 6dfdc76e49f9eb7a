// tier: unit
import { type ShownEpisode, withSimilarSuccesses } from '../../../../activities/identify/discovery/similar-successes';

const episode = (id: string, task: number, opening: string, success = id.startsWith('s')): ShownEpisode => ({
  id,
  index: 0,
  task,
  success,
  opening: new Set(opening.split(' ')),
});
const idsOf = (shown: ShownEpisode[]) => shown.map(({ id }) => id);

const failures = [
  episode('f1', 1, 'book a room'),
  episode('f2', 2, 'cancel the booking now'),
  episode('f3', 3, 'change the date'),
  episode('f4', 4, 'ask for a receipt'),
];

test('a success of the same task stands beside its failure', () => {
  const successes = [episode('s1', 9, 'book a room'), episode('s2', 3, 'something else')];
  expect(idsOf(withSimilarSuccesses(failures, successes))).toEqual(['f1', 'f2', 'f3', 's2', 'f4']);
});

test('else the one with the most similar opening', () => {
  const successes = [episode('s1', 9, 'hello'), episode('s2', 8, 'cancel the booking'), episode('s3', 7, 'the date')];
  expect(idsOf(withSimilarSuccesses(failures, successes))).toEqual(['f1', 'f2', 's2', 'f3', 'f4']);
});

test('one success for every four failures, each once', () => {
  const eight = [...failures, ...failures.map((f) => ({ ...f, id: `${f.id}b` }))];
  const shown = withSimilarSuccesses(eight, [episode('s1', 1, ''), episode('s2', 1, ''), episode('s3', 1, '')]);
  expect(shown).toHaveLength(10);
  expect(new Set(idsOf(shown)).size).toBe(10);
});

test('without successes there are only failures', () => {
  expect(withSimilarSuccesses(failures, [])).toEqual(failures);
});
