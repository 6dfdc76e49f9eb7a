// tier: unit
import { createHash } from 'node:crypto';
import { DISCOVER_PROMPT_VERSION, discoverMessages } from '../../../../activities/identify/prompts/discover';
import { LABEL_PROMPT_VERSION, labelMessages } from '../../../../activities/label-prompt/label-messages';
import { MERGE_PROMPT_VERSION, mergeMessages } from '../../../../activities/identify/prompts/merge';
import type { Candidate } from '../../../../contracts/artifacts/identification';
import { syntheticEpisode } from '../../../fakes/synthetic-episodes';

const capability: Candidate = { id: 'check', name: 'Check it', summary: 'checks', description: 'The agent checks it.' };
const hash = (value: unknown) => createHash('sha256').update(JSON.stringify(value)).digest('hex').slice(0, 12);

test('a changed prompt text needs a new version: labels are reused by version', () => {
  const prompts = {
    [LABEL_PROMPT_VERSION]: hash(labelMessages(syntheticEpisode(1).messages, capability)),
    [DISCOVER_PROMPT_VERSION]: hash([
      discoverMessages([syntheticEpisode(1)], []),
      discoverMessages([syntheticEpisode(1)], [capability]),
    ]),
    [MERGE_PROMPT_VERSION]: hash(
      mergeMessages([capability, { ...capability, name: 'Look twice', description: 'It is\nchecked.' }]),
    ),
  };
  expect(prompts).toMatchInlineSnapshot(`
   {
     "discover-3": "217b39427a77",
     "label-2": "af926ae4d0af",
     "merge-1": "3a990f7622a5",
   }
  `);
});

test('calls on one episode differ only at their end, so that a prefix cache serves them', () => {
  const other = { ...capability, name: 'Other', description: 'Something else.' };
  const [a, b] = [capability, other].map((c) => labelMessages(syntheticEpisode(1).messages, c)[1]?.content ?? '');
  let same = 0;
  while (a![same] === b![same]) same++;
  expect(a!.slice(0, same)).toContain('Capability: ');
  expect(a!.slice(0, same)).toContain('[3] tool: ');
});

test('the common system message is shown once in discovery', () => {
  const text = discoverMessages([syntheticEpisode(1), syntheticEpisode(2)], [])[1]?.content ?? '';
  expect(text.match(/You are a test agent\./g)).toHaveLength(1);
  expect(text).toContain('Episode 2: failed\n[1] user: Please do number 2.');
});

test('each episode says whether it failed', () => {
  const episodes = [true, false].map((success, i) => ({ ...syntheticEpisode(i), success }));
  const text = discoverMessages(episodes, [])[1]?.content ?? '';
  expect(text.match(/^Episode .*/gm)).toEqual(['Episode 1: succeeded', 'Episode 2: failed']);
});

test('a batch that is too long for one call is shown in part', () => {
  const long = Array.from({ length: 400 }, (_, i) => syntheticEpisode(i, 3_000));
  const text = discoverMessages(long, [])[1]?.content ?? '';
  expect(text.length).toBeLessThan(400_000);
  expect(text).toMatch(/^Episode 100: /m);
  expect(text).not.toMatch(/^Episode 400: /m);
});

test('names given before are shown, so that they are used again', () => {
  expect(discoverMessages([syntheticEpisode(1)], [capability])[1]?.content).toContain(
    '- Check it: The agent checks it.',
  );
});
