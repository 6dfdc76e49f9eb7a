// tier: unit
import { DeduplicatedFaults } from '../../contracts/deduplicate-faults';

const fault = (value: string, line = 94, name = 'desk') =>
  `Environment ${name}: evaluate: KeyError: '${value}'\n${name}.py:12 in helper: pay()\n${name}.py:${line} in evaluate: raise KeyError(x)`;

test('a place is told whole once, and its message each time', () => {
  const faults = new DeduplicatedFaults();
  expect(faults.describe('solvable', fault('P1'))).toBe(fault('P1'));
  expect(faults.describe('nop', fault('P2'))).toBe(
    "Environment desk: evaluate: KeyError: 'P2' (at the same place as solvable)",
  );
  expect(faults.describe('calls', `The call is not answered: ${fault('P1')}`)).toBe(
    "The call is not answered: Environment desk: evaluate: KeyError: 'P1' (at the same place as solvable)",
  );
  expect(faults.sums()).toEqual(['3 checks failed at desk.py:94 in evaluate: raise KeyError(x)']);
});

test('other places, and what is no fault of the code, are told whole', () => {
  const faults = new DeduplicatedFaults();
  for (const detail of [fault('P1', 94), fault('P1', 95), 'Doing nothing earns 0.80.', 'Doing nothing earns 0.80.'])
    expect(faults.describe('check', detail)).toBe(detail);
  expect(faults.sums()).toEqual([]);
});
