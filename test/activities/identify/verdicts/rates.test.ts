// tier: unit
import { runRates } from '../../../../activities/identify/verdicts/rates';
import { sumsOf } from './sums-of';

test('rates are shares of the episodes that called for it, coverage is a share of all failures', () => {
  const sums = sumsOf({
    successLacking: 5,
    successApplicable: 50,
    failureLacking: 30,
    failureApplicable: 60,
    failures: 100,
  });
  expect(runRates(sums, 0)).toEqual({ errorRateSuccess: 0.1, errorRateFailure: 0.5, gap: 0.4, coverage: 0.3 });
});

test('without failures the coverage is 0 and not NaN', () => {
  expect(runRates(sumsOf({ successApplicable: 5 }), 0)).toEqual({
    errorRateSuccess: 0,
    errorRateFailure: null,
    gap: null,
    coverage: 0,
  });
});
