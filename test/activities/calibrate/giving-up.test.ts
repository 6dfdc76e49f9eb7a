// Tier: unit.
import { calibrationOf } from '../../../activities/calibrate/calibration';
import { aboveGivingUp } from '../../../activities/calibrate/giving-up';
import { SAFE_REWARD_FIGURE } from '../../../activities/environment-checks/checks/safe-reward';
import { agentSpecSchema } from '../../../contracts/config/agent-spec';

const BAND = { ...agentSpecSchema.shape.calibration.parse(undefined), successReward: 0.99 };
const result = calibrationOf(
  Array.from({ length: 40 }, (_, task) => (task % 4 === 0 ? [1, 0.2, 1, 0.2] : [0.2, 0.2, 1, 0.3])),
  BAND,
);
const checks = (value: number) => [
  {
    name: 'safe-reward',
    group: 'reward-hacks' as const,
    passed: true,
    detail: '',
    figures: [{ name: SAFE_REWARD_FIGURE, value }],
  },
];

test('a calibration stays as it is where giving up earns less than the model', () => {
  expect(result.verdict).toBe('in-band');
  expect(aboveGivingUp(result, { checks: checks(result.meanReward - 0.01) })).toBe(result);
  expect(aboveGivingUp(result, { checks: [] })).toBe(result);
});

test('a calibration stays as it is where the model may earn more than giving up, as far as its tasks can tell', () => {
  expect(aboveGivingUp(result, { checks: checks(result.meanReward) })).toBe(result);
  expect(aboveGivingUp(result, { checks: checks(result.meanReward + 0.01) })).toBe(result);
});

test('a calibration is out of band where giving up earns more than the model', () => {
  const { verdict, problems } = aboveGivingUp(result, { checks: checks(result.meanReward + 0.03) });
  expect(verdict).toBe('uninformative');
  expect(problems[0]).toMatch(
    /^Giving up before the capability shows earns 0\.\d\d, and the model's mean reward is 0\.\d\d:/,
  );
});
