// tier: unit
import { changeOf, detectableLoss, pairedGain } from '../../../activities/nights/gain-interval';

describe('intervals of a gain', () => {
  test('the interval is around the paired difference, and has a width where no task differs', () => {
    const gain = pairedGain({ tasks: 75, gained: 40, lost: 4 });
    expect(gain.estimate).toBeCloseTo(0.48);
    expect(gain.low).toBeGreaterThan(0.3);
    expect(gain.high).toBeLessThan(0.62);
    const none = pairedGain({ tasks: 75, gained: 0, lost: 0 });
    expect(none.low).toBeLessThan(0);
    expect(none.high).toBeGreaterThan(0);
  });

  test('a loss is proved where it is larger than both intervals', () => {
    const before = { estimate: 0.46, low: 0.41, high: 0.51 };
    expect(changeOf(pairedGain({ tasks: 75, gained: 40, lost: 4 }), before).high).toBeGreaterThan(0);
    expect(changeOf(pairedGain({ tasks: 75, gained: 12, lost: 8 }), before).high).toBeLessThan(0);
    expect(detectableLoss({ estimate: 0, low: -0.1, high: 0.1 })).toBeCloseTo(0.143, 2);
  });
});
