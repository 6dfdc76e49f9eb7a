// tier: unit
import { Drops } from '../../gateway/drops';
import type { Log } from '../../gateway/log';
import { Metrics } from '../../gateway/metrics';

describe('Drops', () => {
  beforeEach(() => jest.useFakeTimers());
  afterEach(() => jest.useRealTimers());

  it('counts each, and logs them once a minute', async () => {
    const lines: unknown[] = [];
    const metrics = new Metrics();
    const drops = new Drops(metrics, { warn: (fields: unknown) => void lines.push(fields) } as unknown as Log);
    for (let i = 0; i < 100; i++) drops.note('conversation', 'a');
    drops.note('decision', 'b');
    expect(lines).toEqual([{ dropped: { 'conversation of a': 1 } }]);
    jest.advanceTimersByTime(60_000);
    drops.note('decision', 'b');
    expect(lines.slice(1)).toEqual([{ dropped: { 'conversation of a': 99, 'decision of b': 2 } }]);
    const text = await metrics.registry.metrics();
    expect(text).toContain('whet_gateway_dropped_total{what="conversation",client="a"} 100');
    expect(text).toContain('whet_gateway_dropped_total{what="decision",client="b"} 2');
  });
});
