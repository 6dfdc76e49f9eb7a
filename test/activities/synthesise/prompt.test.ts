// Tier: unit.
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { calibrationOf } from '../../../activities/calibrate/calibration';
import { CHECK_LIMITS } from '../../../activities/environment-checks/limits';
import {
  SYNTHESIS_PROMPT_VERSION,
  synthesisMessages,
  type SynthesisMaterial,
} from '../../../activities/synthesise/prompt';
import { againstDecline } from '../../../activities/synthesise/target-rate';
import { agentSpecSchema } from '../../../contracts/config/agent-spec';
import { syntheticEpisode } from '../../fakes/synthetic-episodes';
import { plainMaterial, plainRejection } from '../../fakes/synthesis-material';

const BAND = { ...agentSpecSchema.shape.calibration.parse(undefined), successReward: 1 };
const material: SynthesisMaterial = {
  ...plainMaterial,
  capability: { id: 'check', name: 'Check it', summary: 'checks', description: 'The agent checks it.' },
};
const rejected = (rewards: number[][], faulty = false): SynthesisMaterial => ({
  ...material,
  previous: { ...plainRejection, calibration: { ...calibrationOf(rewards, BAND), faulty } },
});
const textOf = (some: SynthesisMaterial) =>
  synthesisMessages(some)
    .map(({ content }) => content)
    .join('\n');

test('a changed prompt text needs a new version: answers are reused by version', () => {
  const spoken = { episodes: 4, withText: 2, endedByText: 1, texts: ['It is sent.'] };
  const call = { name: 'send', arguments: '{"to":"Ana"}', observation: '{"error":"nobody"}' };
  const vocabulary = [{ name: 'to', values: ['Ana'], isOpen: false }];
  const full: SynthesisMaterial = {
    ...rejected([[1, 1]]),
    demands: { ...material.demands, hasSay: true },
    samples: { system: 'You check.', openings: ['please check'], calls: [call], errors: [call], spoken, vocabulary },
    verdicts: ['- A look first: accepted (6 of 6)'],
    rate: { labelled: 9, needed: 6, shown: 2, successShown: 2, successLacking: 0 },
  };
  const materials = [material, full, rejected([[0, 0]]), rejected([[0, 0]], true)];
  const hash = createHash('sha256')
    .update(JSON.stringify(materials.map(synthesisMessages)))
    .digest('hex');
  expect({ [SYNTHESIS_PROMPT_VERSION]: hash.slice(0, 12) }).toMatchInlineSnapshot(`
   {
     "synthesise-10": "85185f26bd61",
   }
  `);
});

test('the rules name every threshold of the checks and of the calibration', () => {
  const demands = { ...material.demands, calibration: { ...BAND, meanReward: [0.13, 0.77] as [number, number] } };
  const rules = synthesisMessages({ ...material, demands })[0]!.content;
  for (const limit of Object.values(CHECK_LIMITS)) expect(rules).toMatch(new RegExp(`\\b${limit}\\b`));
  expect(rules).toContain('between 0.13 and 0.77');
  expect(rules).toContain('Partial credit raises the mean reward and never the success rate');
  expect(rules).toContain('at most 200000 characters');
});

test('no check has a threshold of its own that the rules do not name', () => {
  // What decides when something of the target's counts as known; an author cannot miss it.
  const learnt = [
    'ALWAYS',
    'ALWAYS_GIVEN',
    'BY_CHANCE',
    'FAMILIAR',
    'MOST_ERRORS_OF_REQUEST',
    'ONE_SOURCE',
    'UNEXPLAINED',
    'VARIED',
  ];
  const folder = join(__dirname, '../../../activities/environment-checks/checks');
  const own = readdirSync(folder).flatMap((file) =>
    [...readFileSync(join(folder, file), 'utf8').matchAll(/^const ([A-Z_]+) = \d*\.\d+;/gm)].map(([, name]) => name),
  );
  expect([...new Set(own)].sort()).toEqual(learnt);
});

test('the rules say whether the target answers text', () => {
  expect(textOf(material)).toContain('The target has no `say`');
  expect(textOf({ ...material, demands: { ...material.demands, hasSay: true } })).toContain('write `say`');
});

test('nobody is called a customer', () => {
  expect(textOf(material)).not.toMatch(/customer/i);
});

test('the rate in the target stands with the capability', () => {
  const rate = { labelled: 40, needed: 20, shown: 5, successShown: 4, successLacking: 3 };
  expect(textOf({ ...material, rate })).toContain(
    'Before training, the agent played 40 episodes of the target that have a label. The capability was called for in 20 ' +
      'of them. The agent showed it in 5 of these 20 (25 %). Of those that show it, 80 % succeed. Of those that lack ' +
      'it, 20 % succeed.',
  );
});

test.each([
  ['without successes, the labels say nothing against a decline', { needed: 20, shown: 2, successShown: 2 }, ''],
  ['as with few of many', { needed: 100, shown: 9, successShown: 9 }, ''],
  [
    'else they do',
    { needed: 20, shown: 5, successShown: 3 },
    'Against this: 3 of the 20 labelled episodes that call for it show it and succeed.',
  ],
])('%s', (_, rate, sentence) => {
  expect(againstDecline({ labelled: 100, successLacking: 0, ...rate })).toBe(sentence);
});

describe('a refused attempt', () => {
  test('comes back with rollouts and their rewards, and with what came of the attempts before', () => {
    const text = textOf({
      ...material,
      previous: {
        ...rejected([[1, 1]]).previous!,
        attempt: 2,
        rollouts: [{ ...syntheticEpisode(3), reward: 0.4, success: false, finish: 'turn-limit' }],
        history: [
          { attempt: 1, outcome: 'too-hard: mean reward 0.02' },
          { attempt: 2, outcome: 'too-easy' },
        ],
      },
    });
    expect(text).toContain('# Attempt 2 was rejected\nBefore it:\n- attempt 1: too-hard: mean reward 0.02\n');
    expect(text).toMatch(
      /## What the agent did in it, 1: task 3, reward 0\.4, no success, ended by turn-limit\n\[1\] user/,
    );
    expect(text).toContain('Find out from the rollouts and the numbers why the agent earns what it earns');
  });

  test('comes back with the numbers of all checks, those that passed too', () => {
    const checks = [
      {
        ...{ name: 'diverse', group: 'diverse' as const, passed: true, detail: 'fine' },
        figures: [{ name: 'near-duplicates', value: 0.01234, atMost: 0.05 }],
      },
      {
        ...{ name: 'isolated', group: 'isolated' as const, passed: false, detail: 'It does not decide.' },
        figures: [{ name: 'difference', value: 0.04, atLeast: 0.1 }],
      },
    ];
    const validation = { passed: false, problems: [], checks };
    const text = textOf({ ...material, previous: { ...plainRejection, validation } });
    expect(text).toContain('- check diverse: passed [near-duplicates 0.012 (at most 0.05)]');
    expect(text).toContain('- check isolated: FAILED: It does not decide. [difference 0.04 (at least 0.1)]');
    expect(text).toContain('Correct what was found; keep what was right. The capability stays what it is');
  });

  test('comes back with the rollouts on which the second reader and the reward disagree', () => {
    const text = textOf({
      ...material,
      previous: {
        ...rejected([[1, 0]]).previous!,
        reading: {
          check: {
            ...{ name: 'second-reader', group: 'read-blind', passed: false, figures: [] },
            detail: '5 of 9 rollouts that are paid lack it.',
          },
          disagreements: [
            {
              ...{
                source: 'changed',
                change: 'The same call twice',
                seed: 12,
                callsForIt: true,
                reward: 1,
                paid: true,
              },
              ...{ label: 'LACKING', reason: 'It\n# never looked.', step: 2 },
              messages: syntheticEpisode(3).messages,
            },
          ],
        },
      },
    });
    expect(text).toContain('It saw neither the file nor the rewards. 5 of 9 rollouts that are paid lack it.');
    expect(text).toContain(
      '## Where label and reward disagree, 1: task 12, a changed solution (The same call twice): reward 1, label ' +
        'LACKING: It # never looked.\n[1] user: Please do number 3.',
    );
    expect(text).toContain('Correct the reward, the reference solutions or "skill_calls"');
  });

  test.each(['too-easy', 'too-hard'] as const)('is not told which change to make: %s', (verdict) => {
    const text = textOf(rejected(verdict === 'too-easy' ? [[1, 1]] : [[0, 0]]));
    expect(text).toContain(verdict);
    expect(text).not.toMatch(/horizon|distractors|decoys/i);
    expect(text).toContain('never what it asks of the agent nor how often a task needs it');
  });
});
