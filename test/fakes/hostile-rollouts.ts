import type { ServerResponse } from 'node:http';
import type { ChatMessage, Trajectory } from '../../contracts/artifacts/trajectory';
import { FORMS } from './hostile-forms';
import { type Chosen, sendReply } from './hostile-model-server';
import type { FakeAnswer, WireRequest } from './policy-server';

/** Forms that concern one rollout; the others make the stage wait. */
export const ROLLOUT_FORMS = FORMS.filter(({ rollout }) => rollout !== undefined && rollout[0] !== 'waits');

/**
 * A policy server's way to answer conversations in the forms that `choose` gives for them, by the sampler's seed of
 * their first turn.
 */
export function oddAnswers(
  policy: (request: WireRequest) => FakeAnswer,
  choose: (samplingSeed: number) => Chosen | null,
): (request: WireRequest, response: ServerResponse) => boolean {
  const sentOnce = new Set<string>();
  return (request, response) => {
    const turn = request.messages.filter(({ role }) => role === 'assistant').length;
    const samplingSeed = request.seed - turn;
    const chosen = request.messages.length === 1 ? null : choose(samplingSeed);
    if (chosen?.turn !== turn) return false;
    const place = `${samplingSeed}:${request.model}`;
    if (chosen.form.rollout === 'sent again' && sentOnce.has(place)) return false;
    sentOnce.add(place);
    const { calls = [] } = policy(request) as { calls?: { name: string; arguments: Record<string, unknown> }[] };
    sendReply(response, chosen.form.reply({ content: null, calls }));
    return true;
  };
}

/** What a trajectory tells, but for counts of tokens, reasoning, and white space in arguments. */
function told({ messages, reward, success, finish, steps }: Trajectory) {
  const same = ({ reasoning_content: _, tool_calls: calls, ...message }: ChatMessage) => ({
    ...message,
    calls: calls?.map(({ id, function: { name, arguments: given } }) => [id, name, JSON.parse(given) as unknown]),
  });
  return { messages: messages.map(same), reward, success, finish, steps };
}

/**
 * Asserts that a trajectory tells what happened, and nothing else. `usual` is that of the same plan with plain answers.
 */
export function expectTruth(odd: Trajectory, usual: Trajectory, chosen: Chosen | null): void {
  if (chosen === null) return expect(odd).toEqual(usual);
  const { form, turn } = chosen;
  const outcome = form.rollout!;
  const answers = odd.messages.filter(({ role }) => role === 'assistant');
  const reply = odd.messages.indexOf(answers[turn]!);
  if (typeof outcome === 'string') {
    expect(told(odd)).toEqual(told(usual));
  } else if (outcome[0] === 'said') {
    expect(odd).toMatchObject({ finish: 'no-tool-call', steps: turn });
    expect(odd.messages[reply]!.content ?? '').toMatch(outcome[1]);
  } else if (outcome[0] === 'observed') {
    expect(odd.messages[reply + 1]!.content).toMatch(outcome[1]);
    expect(odd.finish).toBe('done');
  } else {
    expect(odd).toMatchObject({
      finish: outcome[0] === 'alone' ? 'refused' : 'context-length',
      success: false,
      steps: turn,
    });
    expect(answers).toHaveLength(turn);
  }
  expect(odd.cutReplies).toBe(form.isCut && 1);
  expect(answers[turn]?.reasoning_content).toBe(form.thought);
}

/** What a summary has to count of the rollouts: refused, too long to open, and cut ones. */
export function expectedCounts(rollouts: Iterable<Trajectory>, choose: (samplingSeed: number) => Chosen | null) {
  const chosen = [...rollouts].flatMap(({ samplingSeed }) => choose(samplingSeed) ?? []);
  const of = (kind: string, turns: number) =>
    chosen.filter(({ form, turn }) => form.rollout![0] === kind && turn < turns).length || undefined;
  const cut = chosen.filter(({ form }) => form.isCut).length || undefined;
  return { refused: of('alone', 2), tooLong: of('too long', 1), cut };
}
