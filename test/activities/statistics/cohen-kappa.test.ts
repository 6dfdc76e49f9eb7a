// tier: unit
import { cohenKappa } from '../../../activities/statistics/cohen-kappa';

const pairs = (yesYes: number, yesNo: number, noYes: number, noNo: number): [boolean, boolean][] => [
  ...Array.from({ length: yesYes }, (): [boolean, boolean] => [true, true]),
  ...Array.from({ length: yesNo }, (): [boolean, boolean] => [true, false]),
  ...Array.from({ length: noYes }, (): [boolean, boolean] => [false, true]),
  ...Array.from({ length: noNo }, (): [boolean, boolean] => [false, false]),
];

test.each([
  // The textbook's table: 35 of 50 agree, and 25 would by chance.
  ['a table', pairs(20, 5, 10, 15), 0.4],
  ['full agreement', pairs(3, 0, 0, 5), 1],
  ['chance', pairs(4, 4, 4, 4), 0],
  ['nothing', [], null],
  ['one answer only', pairs(6, 0, 0, 0), null],
])('%s', (_, given, kappa) => {
  if (kappa === null) expect(cohenKappa(given)).toBeNull();
  else expect(cohenKappa(given)).toBeCloseTo(kappa, 12);
});
