// tier: unit
import { type JudgedVariation, judgementOf } from '../../../activities/environment-checks/judged-variations';
import { verdictLines } from '../../../activities/synthesise/target-verdicts';

const tries = (changes: Partial<JudgedVariation>, count: number): JudgedVariation[] =>
  Array.from({ length: count }, (_, seed) => ({
    ...{ change: 'again book', about: 'The same call of book twice', part: 'book say', kind: 'either' as const },
    ...{ seed, succeeded: false, answer: 'a refusal', observation: '{"error":"booked"}' },
    ...changes,
  }));

test('what the target accepts, refuses and answers is a line for each change, over all parts of solutions', () => {
  const booked = { answer: 'an answer', observation: '{"ok":true}', part: 'book find say' };
  const judged = [
    ...tries({}, 3),
    ...tries(booked, 2),
    ...tries({ change: 'swapped', about: 'find after book', succeeded: true, answer: null, observation: undefined }, 6),
    ...tries({ change: 'first find', about: 'One more call of find', succeeded: true }, 4),
    ...tries({ change: 'first find', about: 'One more call of find' }, 4),
  ];
  expect(verdictLines(judgementOf(judged))).toEqual([
    '- One more call of find: accepted in 4 of 8; the call is answered "{\\"error\\":\\"booked\\"}" (8)',
    '- find after book: accepted (6 of 6)',
    '- The same call of book twice: refused (5 of 5); the call is answered ' +
      '"{\\"error\\":\\"booked\\"}" (3), "{\\"ok\\":true}" (2)',
  ]);
});

test('a change that was tried too rarely is not shown', () => {
  expect(verdictLines(judgementOf(tries({}, 3)))).toEqual([]);
});
