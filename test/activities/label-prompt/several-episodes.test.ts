// tier: unit
import { createHash } from 'node:crypto';
import { labelMessages } from '../../../activities/label-prompt/label-messages';
import {
  SEVERAL_EPISODES_VERSION,
  severalEpisodesMessages,
  severalLabelsProblem,
} from '../../../activities/label-prompt/several-episodes';
import type { Candidate } from '../../../contracts/artifacts/identification';
import { syntheticEpisode } from '../../fakes/synthetic-episodes';

const capability: Candidate = { id: 'check', name: 'Check it', summary: 'checks', description: 'The agent checks it.' };

test('a changed prompt text needs a new version: answers are reused by version', () => {
  const hash = createHash('sha256')
    .update(JSON.stringify(severalEpisodesMessages(['[0] user: a\n', '[0] user: b\n'], capability)))
    .digest('hex');
  expect({ [SEVERAL_EPISODES_VERSION]: hash.slice(0, 12) }).toMatchInlineSnapshot(`
   {
     "read-1": "ad6e6acad670",
   }
  `);
});

test('the labels mean what they mean in a call about one episode', () => {
  const [one, several] = [
    labelMessages(syntheticEpisode(1).messages, capability),
    severalEpisodesMessages([], capability),
  ];
  const meanings = (text: string) => text.slice(text.indexOf('- NA:'), text.indexOf('Answer with JSON'));
  expect(meanings(several[0]!.content)).toBe(meanings(one[0]!.content));
});

test.each([
  ['a label for each episode', [1, 2], [3, null], null],
  ['a label that is missing', [1], [0], '"labels" has the episodes 1; give one label for each of 1 to 2, in order'],
  ['another order', [2, 1], [0, 0], '"labels" has the episodes 2, 1; give one label for each of 1 to 2, in order'],
  ['no label', [], [], '"labels" has the episodes (none); give one label for each of 1 to 2, in order'],
  [
    "a step of another episode's length",
    [1, 2],
    [0, 4],
    '"step" of episode 2 is 4, but its messages have the numbers 0 to 1; quote one of them, or null when none shows it',
  ],
])('%s', (_, numbers, steps, problem) => {
  const labels = numbers.map((episode, i) => ({ episode, reason: '', step: steps[i]!, label: 'PRESENT' as const }));
  expect(severalLabelsProblem({ labels }, [4, 2])).toBe(problem);
});
