// tier: unit
import { MockActivityEnvironment } from '@temporalio/testing';
import { type EpisodeFacts, factsOf, withTargetEvidence } from '../../../activities/identify/target-evidence';
import { consensusCodes } from '../../../activities/identify/verdicts/consensus-vote';
import { contrastCandidates } from '../../../activities/identify/verdicts/contrast-candidates';
import { LABEL_CODES } from '../../../activities/identify/verdicts/label-codes';
import { trajectoryOutcomes } from '../../../activities/identify/verdicts/task-sums';
import type { VerdictRule } from '../../../activities/identify/verdicts/verdict-rule';
import type { SolutionPlayer } from '../../../activities/target-profile/play-solutions';
import { type Contrast, contrastSchema } from '../../../contracts/artifacts/identification';
import type { PreparedSpec } from '../../../contracts/artifacts/prepared-spec';
import type { ChatMessage, Trajectory } from '../../../contracts/artifacts/trajectory';

const { NA, PRESENT, LACKING } = LABEL_CODES;
const rule: VerdictRule = { minGap: 0.2, minCoverage: 0.1, runs: 1, quorum: 1, familywiseError: 0.05 };

const opened = (code: string): ChatMessage[] => [
  { role: 'user', content: 'Open the record of Ana.' },
  {
    role: 'assistant',
    content: null,
    tool_calls: [{ id: 'c', type: 'function', function: { name: 'open', arguments: JSON.stringify({ code }) } }],
  },
];
const callOf = (name: string) => ({ id: 'd', type: 'function' as const, function: { name, arguments: '{}' } });
const said = (text: string): ChatMessage[] => [{ role: 'user', content: text }];

/** So many episodes, each of its own task. */
interface Group {
  count: number;
  code: number;
  success: boolean;
  messages: ChatMessage[];
  split?: 'live';
}

/** The environment's answers; null: it cannot be played. */
type Answers = Partial<{ without: { tried: number; accepted: number; informs?: boolean }; solutions: ChatMessage[][] }>;

async function judge(
  groups: Group[],
  { without, solutions }: Answers = {},
  notTrainable?: string,
  description = 'c',
  corrected: Partial<Contrast> = {},
) {
  const episodes = groups.flatMap((group) => Array.from({ length: group.count }, () => group));
  const facts: EpisodeFacts = { seeds: [], tools: [], sources: [] };
  episodes.forEach(({ messages, split = 'train' }, seed) => {
    const fact = factsOf({ task: { seed, split }, messages } as Pick<Trajectory, 'task' | 'messages'>);
    facts.seeds.push(fact.seed);
    facts.tools.push(fact.tools);
    facts.sources.push(fact.sources);
  });
  const labels = [Uint8Array.from(episodes, ({ code }) => code)];
  const outcomes = trajectoryOutcomes(episodes.map(({ success }, task) => ({ success, task })));
  const asked: number[][] = [];
  const askedTools: string[][] = [];
  const player: SolutionPlayer = {
    withoutTools: async (_, tools, seeds) => {
      asked.push([...seeds]);
      askedTools.push([...tools]);
      return without ? { informs: false, ...without } : null;
    },
    messages: async () => solutions ?? null,
  };
  const candidates = [
    { id: 'c', name: 'C', summary: 'c', description, ...(notTrainable !== undefined && { notTrainable }) },
  ];
  const correct = () =>
    withTargetEvidence(
      contrastCandidates([{ id: 'c', labels }], outcomes, rule).map((one) => ({ ...one, ...corrected })),
      {
        ...{ candidates, codes: [consensusCodes(labels)], outcomes, facts, rule, player },
        runId: 'run-1',
        prepared: {} as PreparedSpec,
        signal: new AbortController().signal,
      },
    );
  const [found] = await new MockActivityEnvironment().run<[], Contrast[], typeof correct>(correct);
  return { found: contrastSchema.parse(found), asked, askedTools };
}

describe('a step that the environment accepts without', () => {
  const DECOY: Group[] = [
    { count: 60, code: PRESENT, success: true, messages: opened('Ana') },
    { count: 80, code: LACKING, success: false, messages: said('x') },
    { count: 40, code: PRESENT, success: false, messages: opened('Ana') },
  ];

  test('is rejected, and the reason says what was tried', async () => {
    const { found, asked } = await judge(DECOY, { without: { tried: 60, accepted: 60 } });
    expect(found).toMatchObject({
      ...{ verdict: 'rejected', missed: ['effect'], kept: false },
      partial: { decidesNothing: { tool: 'open', tasks: 60 } },
      reason:
        "Rejected: it does not decide in the target. The agent's environment accepts its own solutions of all 60 tried " +
        'tasks that the agent failed, without open as well.',
    });
    // Tasks that the agent failed and in which it lacks the step.
    expect(asked).toEqual([Array.from({ length: 60 }, (_, i) => 60 + i)]);
  });

  test.each([
    ['one solution is refused without it', { tried: 60, accepted: 59 }],
    ['too few solutions have it', { tried: 19, accepted: 19 }],
    ['it is a look-up, whose answer the solutions know already', { tried: 60, accepted: 60, informs: true }],
    ['the environment cannot be played', undefined],
  ])('is kept if %s', async (_, without) => {
    const { found } = await judge(DECOY, without && { without });
    expect(found).toMatchObject({ verdict: 'kept', kept: true });
    expect(found.partial).not.toHaveProperty('decidesNothing');
  });

  test.each<Partial<Contrast>>([
    { verdict: 'not-enough-data', missed: ['significance'], kept: false, moreFailures: 9 },
    { verdict: 'rejected', missed: ['effect'], kept: false },
  ])('is rejected for that also where the labels do not decide, or as a companion: %j', async (labelled) => {
    const { found } = await judge(DECOY, { without: { tried: 60, accepted: 60 } }, undefined, 'c', labelled);
    expect(found).toMatchObject({ verdict: 'rejected', missed: ['effect'], moreFailures: null });
    expect(found.reason).toMatch(/^Rejected: it does not decide in the target\./);
  });

  const BOTH = DECOY.map((group): Group => {
    const [said, ...calls] = group.messages;
    const more =
      group.code === PRESENT ? [{ ...calls[0]!, tool_calls: [callOf('ask'), ...calls[0]!.tool_calls!] }] : [];
    return { ...group, messages: [said!, ...more] };
  });

  test.each([
    ['named in its text', 'It calls open first.', [['open']]],
    ['all that are named', 'It calls ask, then open.', [['ask', 'open']]],
    ['none where the text names none', 'c', []],
  ])('is the one of several tools that tell its episodes apart: %s', async (_, description, tools) => {
    expect((await judge(BOTH, {}, undefined, description)).askedTools).toEqual(tools);
  });

  test('is not played for live traffic, which has no tasks', async () => {
    const live = DECOY.map((group) => ({ ...group, split: 'live' as const }));
    expect((await judge(live, { without: { tried: 60, accepted: 60 } })).asked).toEqual([]);
  });
});

describe('a value that nothing gives', () => {
  const GUESSING: Group[] = [
    { count: 30, code: LACKING, success: false, messages: opened('XK-9921') },
    { count: 100, code: NA, success: true, messages: said('x') },
  ];
  const solutions = (count: number, messages: ChatMessage[]) => ({
    solutions: Array<ChatMessage[]>(count).fill(messages),
  });

  test('is named, with what the solutions of the environment say', async () => {
    const { found } = await judge(GUESSING, solutions(20, opened('XK-0001')));
    expect(found).toMatchObject({ verdict: 'not-trainable', moreFailures: null });
    expect(found.reason).toBe(
      'Not trainable: 30 episodes call for it, and all lack it and fail. Training has no success to learn from. In 30 ' +
        'episodes the agent gives open.code a value that no message before it contains, and none of these succeed. No ' +
        "tool seems to return the value: in 20 solutions of the agent's environment, no message contains it either.",
    );
  });

  test('is perhaps returned by no tool where solutions cannot tell', async () => {
    expect((await judge(GUESSING)).found.reason).toMatch(
      /none of these succeed\. Perhaps no tool returns the value\.$/,
    );
  });

  test('is not missing where the solutions find it', async () => {
    const found = (await judge(GUESSING, solutions(20, [...said('code XK-0001'), ...opened('XK-0001').slice(1)])))
      .found;
    expect(found.partial).not.toHaveProperty('missingValue');
  });

  test('never outweighs a gap', async () => {
    const kept: Group[] = [...GUESSING, { count: 12, code: PRESENT, success: true, messages: said('x') }];
    expect((await judge(kept)).found).toMatchObject({
      verdict: 'kept',
      partial: { missingValue: { solutions: null } },
    });
    const searched = await judge(kept, solutions(20, opened('XK-0001')));
    expect(searched.found).toMatchObject({ verdict: 'kept', partial: { missingValue: { solutions: 20 } } });
  });
});

describe('an analyst that says that a capability cannot be trained', () => {
  const claimed = (shown: number) =>
    judge(
      [
        { count: 40, code: LACKING, success: false, messages: said('x') },
        { count: shown, code: PRESENT, success: true, messages: said('x') },
        { count: 100, code: NA, success: true, messages: said('x') },
      ],
      {},
      'No tool gives the code',
    );

  test('is believed where hardly an episode shows it', async () => {
    const { found } = await claimed(4);
    expect(found).toMatchObject({ verdict: 'not-trainable', kept: false });
    expect(found.reason).toBe(
      'Not trainable: The analyst says: No tool gives the code. 4 of 44 episodes that call for it show it and succeed.',
    );
  });

  test('is not believed against the labels', async () => {
    const { found } = await claimed(30);
    expect(found).toMatchObject({ verdict: 'kept', kept: true });
    expect(found.reason).toMatch(
      /The analyst says that it cannot be trained, but 30 of 70 episodes that call for it show it and succeed\.$/,
    );
  });
});
