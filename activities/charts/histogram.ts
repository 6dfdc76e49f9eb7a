import { count, decimal } from '../html/format';
import { markup, type Markup } from '../html/markup';
import { drawing, label, line, linear, region, roundUp, ticks, xAxis } from './svg';

/** The content of a histogram of shares. */
interface HistogramOptions {
  /** In [0, 1]. */
  values: readonly number[];
  /** The shaded band, in which the mean should be. */
  band: readonly [number, number];
  /** Drawn as a line. */
  mean: number;
  /** Class of the bars: `good` when accepted, `bad` when rejected. */
  look: 'good' | 'bad';
  xTitle: string;
  yTitle: string;
}

const BINS = 10;
const WIDE = 400;
const HIGH = 210;

/** Number of values in each tenth of [0, 1]; the value 1 belongs to the last tenth. */
export function tenths(values: readonly number[]): number[] {
  const bins = new Array<number>(BINS).fill(0);
  for (const value of values) {
    const bin = Math.min(BINS - 1, Math.max(0, Math.floor(value * BINS + 1e-9)));
    bins[bin] = (bins[bin] as number) + 1;
  }
  return bins;
}

/** A histogram that is small enough for a grid; it needs no second layout. */
export function histogram({ values, band, mean, look, xTitle, yTitle }: HistogramOptions, description: string): Markup {
  const bins = tenths(values);
  const area = { left: 40, right: WIDE - 12, top: 40, bottom: HIGH - 44 };
  const x = linear([0, 1], [area.left, area.right]);
  const top = roundUp(Math.max(...bins), 3);
  const y = linear([0, top], [area.bottom, area.top]);
  const heightOf = (n: number) => area.bottom - y(n);
  const barWidth = x(1 / BINS) - x(0) - 2;
  const anchor = mean > 0.75 ? 'end' : 'start';
  return drawing(WIDE, HIGH, description, [
    region(x(band[0]), area.top, x(band[1]) - x(band[0]), area.bottom - area.top),
    ...ticks(0, top, 3)
      .filter(Number.isInteger)
      .flatMap((v) => [
        line(area.left, y(v), area.right, y(v), 'grid'),
        label(area.left - 7, y(v) + 4, count(v), { anchor: 'end', look: 'muted' }),
      ]),
    label(0, 14, yTitle, { look: 'muted' }),
    ...bins.map(
      (n, i) =>
        markup`<rect x="${x(i / BINS) + 1}" y="${y(n)}" width="${barWidth}" height="${heightOf(n)}" class="bar ${look}"
          ><title>${decimal(i / BINS, 1)} to ${decimal((i + 1) / BINS, 1)}: ${n}</title></rect
        >`,
    ),
    line(x(mean), area.top - 8, x(mean), area.bottom, 'mean-halo'),
    line(x(mean), area.top - 8, x(mean), area.bottom, 'mean'),
    label(x(mean) + (anchor === 'start' ? 5 : -5), area.top - 8, `mean ${decimal(mean)}`, { anchor, look: 'strong' }),
    ...xAxis(x, [0, 0.2, 0.4, 0.6, 0.8, 1], area.bottom, area.bottom, (v) => decimal(v, 1), xTitle),
  ]);
}
