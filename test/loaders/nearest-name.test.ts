// tier: unit
import { nearestName } from '../../loaders/nearest-name';

const known = ['trainSeeds', 'heldOutSeeds', 'path', 'kind', 'command', 'maxTurns', 'seconds'];

test.each([
  ['a letter is missing', 'comand', 'command'],
  ['a letter is too many', 'commmand', 'command'],
  ['a letter is another one', 'kint', 'kind'],
  ['two letters are swapped', 'knid', 'kind'],
  ['words are joined otherwise', 'held_out_seeds', 'heldOutSeeds'],
  ['the nearest of several', 'trainSeed', 'trainSeeds'],
])('%s', (_, name, meant) => {
  expect(nearestName(name, known)).toBe(meant);
});

test.each(['colour', 'x', '', 'a'.repeat(100_000)])('no known name is near %.20s', (name) => {
  expect(nearestName(name, known)).toBeNull();
});
