// tier: unit
import { boughtRollouts, isMixedAlone, switchesLater } from '../../contracts/artifacts/router-choice';

const tried = { tasks: 9, gain: 0.1, standardError: 0.2, leftOut: [], adopted: false };
const laterTurns = { ...tried, rollouts: 20, reads: 'user' as const };
const toolResults = { ...tried, rollouts: 3 };

test('all rollouts that a competition bought are counted, those that switch adapters included', () => {
  expect(boughtRollouts({ rollouts: 100 })).toBe(100);
  expect(boughtRollouts({ rollouts: 100, laterTurns, toolResults })).toBe(123);
});

test('conversations switch by messages or by results of tools, if that was adopted', () => {
  expect(switchesLater({ laterTurns, toolResults })).toBe(false);
  expect(switchesLater({ laterTurns: { ...laterTurns, adopted: true } })).toBe(true);
  expect(switchesLater({ laterTurns, toolResults: { ...toolResults, adopted: true } })).toBe(true);
});

test('the mixed adapter that follows the results of tools is not alone', () => {
  expect(isMixedAlone({ chosen: 'mixed', toolResults })).toBe(true);
  expect(isMixedAlone({ chosen: 'mixed', toolResults: { ...toolResults, adopted: true } })).toBe(false);
});
