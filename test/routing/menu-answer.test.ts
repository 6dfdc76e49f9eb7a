// tier: unit
import { routingDecision } from '../../routing/menu-answer';
import { routerMenu } from '../../routing/router-prompt';

const menu = routerMenu([{ id: 'refunds', summary: 'It has to refund.' }]);
const answer = (...alternatives: [string, number][]) => ({
  content: alternatives[0]?.[0] ?? null,
  firstToken: alternatives.map(([token, logprob]) => ({ token, logprob })),
});

describe('the probabilities of the labels', () => {
  test('are renormalised over the menu, and their sum before that is the covered mass', () => {
    const record = routingDecision(7, menu, answer(['A', Math.log(0.3)], ['B', Math.log(0.1)], ['the', Math.log(0.6)]));
    expect(record).toEqual({ seed: 7, capabilityId: 'refunds', probabilities: [0.75, 0.25], coveredMass: 0.4 });
  });

  test('cover an unknown mass where the server has ruled out all other tokens, as vLLM does', () => {
    const record = routingDecision(7, menu, answer(['A', Math.log(0.75)], ['B', Math.log(0.25)], ['the', -9999]));
    expect(record).toMatchObject({ probabilities: [0.75, 0.25], coveredMass: null });
  });

  test('are those of the answered label, and cover nothing, where there are no alternatives', () => {
    expect(routingDecision(7, menu, { content: ' A', firstToken: [] })).toMatchObject({
      capabilityId: 'refunds',
      probabilities: [1, 0],
      coveredMass: 0,
    });
  });
});
