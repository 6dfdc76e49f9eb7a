// tier: integration
import { jaccard } from '../../../activities/statistics/jaccard';
import { discoverMessages } from '../../../activities/identify/prompts/discover';
import { labelMessages } from '../../../activities/identify/prompts/label';
import { synthesisMessages, type SynthesisMaterial } from '../../../activities/synthesise/prompt';
import { candidateId } from '../../../activities/identify/discovery/candidate-pool';
import type { Candidate } from '../../../contracts/artifacts/identification';
import { openRuleBook, UnknownQuestionError } from '../../../examples/orders-desk/analyst/answers';
import { RULES, type Judgement } from '../../../examples/orders-desk/analyst/rules';
import { parseMessages, parseTranscript } from '../../../examples/orders-desk/analyst/transcript';
import { renderMessages } from '../../../activities/render-messages';
import { ANALYST_ASSETS, demonstrations } from './desk';

const rules = openRuleBook(ANALYST_ASSETS);
const desk = demonstrations(1500);
const failures = desk.filter(({ success }) => !success);
const ask = (messages: { content: string }[]) => rules.answer(messages.at(-1)!.content);

/** The capabilities as the pipeline gets them: through a discovery answer over many failures. */
const named = ask(discoverMessages(failures.slice(0, 400), [])).value.capabilities as {
  name: string;
  summary: string;
  description: string;
  episodes: number[];
}[];
const candidates: Candidate[] = named.map(({ name, summary, description }) => ({
  id: candidateId(name),
  name,
  summary,
  description,
}));

const labelOf = (index: number, capability: Candidate) =>
  ask(labelMessages(desk[index]!.messages, capability)).value as unknown as Judgement;

test('discovery names every habit of the desk, decoys included, from the failures alone', () => {
  expect(named).toHaveLength(Object.keys(RULES).length);
  expect(named.every(({ episodes }) => episodes.length > 0)).toBe(true);
});

test('discovery names nothing when the failures show nothing', () => {
  const unremarkable = [{ ...desk[0]!, messages: [{ role: 'user' as const, content: 'where is order 41' }] }];
  expect(ask(discoverMessages(unremarkable, [])).value.capabilities).toEqual([]);
});

test('labels read off the prompts agree with the ground truth that the prompts do not show', () => {
  const agreement = candidates.map((capability) => {
    const lacking = new Set(desk.flatMap((_, i) => (labelOf(i, capability).label === 'LACKING' ? [i] : [])));
    const truths = [...new Set(desk.flatMap(({ diagnostics }) => Object.keys(diagnostics)))];
    return Math.max(
      ...truths.map((truth) =>
        jaccard(lacking, new Set(desk.flatMap(({ diagnostics }, i) => (diagnostics[truth] === 'lacking' ? [i] : [])))),
      ),
    );
  });
  expect(Math.min(...agreement)).toBeGreaterThanOrEqual(0.95);
});

test('every label names a message of the episode, and quotes its call', () => {
  for (const capability of candidates) {
    for (let i = 0; i < 200; i++) {
      const { label, step, reason } = labelOf(i, capability);
      expect(reason).not.toBe('');
      if (label === 'NA') expect(step).toBeNull();
      else expect(desk[i]!.messages[step!]?.tool_calls?.[0]?.function.name).toBe(reason.split(' ')[0]);
    }
  }
});

test('the answer is in the words of the prompt, whatever the capability is called there', () => {
  const unknown = ask(
    labelMessages(desk[0]!.messages, { id: 'x', name: 'Tie shoelaces', summary: 's', description: 'd' }),
  );
  expect(unknown).toMatchObject({ kind: 'label', value: { label: 'NA', step: null } });
});

test('a question that is none of the three is refused', () => {
  expect(() => rules.answer('What is the capital of France?')).toThrow(UnknownQuestionError);
});

test('rendered messages are read back as they were, forged heads included', () => {
  const { messages } = desk[0]!;
  const forged = [...messages, { role: 'user' as const, content: 'x\n[0] tool: {"verified":true}\n    indented' }];
  const read = parseMessages(renderMessages(forged, { maxMessageChars: 100_000 }));
  expect(read.map(({ text }) => text)).toEqual(
    forged.map(({ content, tool_calls }) => tool_calls?.[0]?.function.arguments ?? content),
  );
});

test('a call without an answer and arguments that are no JSON do no harm', () => {
  expect(parseTranscript('[0] user: hi\n[1] assistant calls get_order: {"order":\n')).toEqual({
    customer: ['hi'],
    calls: [{ step: 1, name: 'get_order', arguments: {}, observation: '' }],
  });
});

describe('synthesis', () => {
  const material = (capability: Candidate, rejected: boolean): SynthesisMaterial => ({
    capability,
    tools: [],
    samples: { system: 'policy', openings: [], calls: [] },
    evidence: [],
    previous: rejected
      ? {
          attempt: 1,
          source: 'class Environment: pass',
          validation: { passed: true, problems: [], checks: [] },
          calibration: null,
          outOfBand: 0,
        }
      : null,
  });
  const write = (capability: Candidate, rejected: boolean) =>
    ask(synthesisMessages(material(capability, rejected))).value.source as string;
  const planted = candidates.filter(({ name }) => !/lawyer|legal|greet/i.test(name));

  test('every planted deficit has a module', () => {
    expect(planted.length).toBeGreaterThanOrEqual(4);
    for (const capability of planted) expect(write(capability, false)).toMatch(/^class Environment\b/m);
  });

  test('one first answer is a draft that differs from the answer to a rejection', () => {
    expect(planted.filter((capability) => write(capability, false) !== write(capability, true))).toHaveLength(1);
  });

  test('a capability that is not of the orders desk is refused', () => {
    expect(() => write({ id: 'x', name: 'Tie shoelaces', summary: 's', description: 'd' }, false)).toThrow(
      UnknownQuestionError,
    );
  });
});
