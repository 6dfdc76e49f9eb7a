// tier: unit
import { student95, studentTail } from '../../../activities/statistics/student';

test.each([
  [4, 2.776],
  [10, 2.228],
  [30, 2.042],
])("Student's 0.975 quantile at %d degrees of freedom is %d, and its tail 0.025", (df, quantile) => {
  expect(Math.abs(student95(df) - quantile)).toBeLessThan(0.01);
  expect(studentTail(quantile, df)).toBeCloseTo(0.025, 2);
  expect(studentTail(-quantile, df)).toBeCloseTo(0.975, 2);
});
