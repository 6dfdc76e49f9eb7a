// tier: unit
import { barsPlot, countAxis, timeAxis } from '../../../activities/charts/bars';
import { curvesPlot, smooth } from '../../../activities/charts/curves';
import { heatMap } from '../../../activities/charts/heat-map';
import { histogram, tenths } from '../../../activities/charts/histogram';
import { changePlot, forestPlot } from '../../../activities/charts/intervals';
import { scatterPlot, type ScatterPoint } from '../../../activities/charts/scatter';
import { linear, roundUp, shorten, textWidth, ticks, wrap } from '../../../activities/charts/svg';

describe('scales', () => {
  it('map a domain to a range, also one of no length', () => {
    expect(linear([0, 10], [100, 0])(2.5)).toBe(75);
    expect(linear([3, 3], [0, 100])(3)).toBe(50);
  });

  it.each([
    [0, 1, 5, [0, 0.2, 0.4, 0.6, 0.8, 1]],
    [-0.2, 1, 6, [-0.2, 0, 0.2, 0.4, 0.6, 0.8, 1]],
    [1, 40, 5, [10, 20, 30, 40]],
    [5, 5, 4, [5]],
  ])('have round ticks between %d and %d', (low, high, wanted, expected) => {
    expect(ticks(low, high, wanted)).toEqual(expected);
  });

  it('end at a round number that is not below the data', () => {
    expect(roundUp(0.58, 5)).toBeCloseTo(0.6, 12);
    expect(roundUp(37, 4)).toBe(40);
    expect(roundUp(0)).toBe(1);
  });

  it('use steps that clocks have for time', () => {
    expect(timeAxis(158, 5)).toEqual([0, 60, 120, 180]);
    expect(timeAxis(7.2, 5)).toEqual([0, 2, 4, 6, 8]);
    expect(timeAxis(900_000, 5).at(-1)).toBeGreaterThanOrEqual(900_000);
    expect(countAxis(0, 4)).toContain(0);
  });
});

describe('chart data', () => {
  it('counts tenths, with 1 in the last', () => {
    expect(tenths([0, 0.05, 0.1, 0.3, 0.7, 0.999, 1])).toEqual([2, 1, 0, 1, 0, 0, 0, 1, 0, 2]);
  });

  it('smooths over what is there at the ends', () => {
    const points = [0, 1, 0, 1, 0].map((y, x) => ({ x, y }));
    expect(smooth(points, 1).map((p) => p.y)).toEqual([1 / 2, 1 / 3, 2 / 3, 1 / 3, 1 / 2]);
  });

  it('breaks and cuts text to a width', () => {
    const lines = wrap('Order status check before cancelling an order', 100, 2);
    expect(lines).toHaveLength(2);
    expect(lines[1]).toMatch(/…$/);
    for (const line of lines) expect(textWidth(line)).toBeLessThanOrEqual(100);
    expect(shorten('short', 100)).toBe('short');
  });

  it('names every point of a crowded scatter plot, apart from each other', () => {
    const crowd = Array.from({ length: 10 }, (_, i): ScatterPoint => ({
      number: i + 1,
      name: `capability ${i}`,
      x: 0.3 + 0.004 * i,
      y: 0.8 - 0.01 * i,
      yLow: 0.7,
      yHigh: 0.9,
      kept: true,
    }));
    const svg = scatterPlot(crowd, { minX: 0.1, minY: 0.2 }, 'wide', 'crowd').text;
    const places = [...svg.matchAll(/<text x="([\d.]+)" y="([\d.]+)"[^>]*>capability/g)].map((m) => `${m[1]},${m[2]}`);
    expect(places).toHaveLength(10);
    expect(new Set(places).size).toBe(10);
  });
});

describe('plots of next to nothing', () => {
  const flat = { estimate: 0, low: 0, high: 0 };
  it.each([
    ['scatter without points', scatterPlot([], { minX: 0.1, minY: 0.2 }, 'narrow', 'd')],
    [
      'histogram without values',
      histogram({ values: [], band: [0.2, 0.6], mean: 0, look: 'bad', xTitle: 'x', yTitle: 'y' }, 'd'),
    ],
    ['curve of one point', curvesPlot([{ name: 'a', points: [{ x: 1, y: 0.5 }] }], 'wide', 'd')],
    [
      'bars of length zero',
      barsPlot(
        [{ name: 'a', parts: [{ name: 'p', value: 0, look: '' }], note: '' }],
        { format: String, axis: timeAxis },
        'wide',
        'd',
      ),
    ],
    ['intervals of length zero', forestPlot([{ name: 'a', rate: flat, look: 'base' }], 'narrow', 'd')],
    ['no change', changePlot([{ name: 'a', base: 0, routed: 0, note: '', shortNote: '' }], 'wide', 'd')],
    [
      'heat map of an empty row',
      heatMap(
        { rows: ['a'], columns: [{ name: 'none', short: 'A' }], tasks: [[0]], expected: [null], columnTitle: 't' },
        'wide',
        'd',
      ),
    ],
  ])('%s have no impossible numbers', (_, plot) => {
    expect(plot.text).toMatch(/^<svg/);
    expect(plot.text).not.toMatch(/NaN|Infinity|undefined/);
  });
});
