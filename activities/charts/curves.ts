import { count, decimal } from '../html/format';
import { markup, type Markup } from '../html/markup';
import { drawing, type Layout, linear, pathThrough, seriesLook, ticks, WIDTH, xAxis, yAxis } from './svg';

/** How a plot of curves looks. */
export interface CurvesLook {
  /** Number of the first curve's colour, so that two plots of a page share no colour. Default: 0. */
  firstSeries?: number;
  /** Points on each side over which a line averages. Default: `SMOOTHING`. */
  reach?: number;
  /** Title of the vertical axis. Default: mean reward. */
  yTitle?: string;
}

/** One learning curve. */
export interface Curve {
  name: string;
  points: readonly { x: number; y: number }[];
}

/** Number of iterations on each side over which a smoothed point averages. */
export const SMOOTHING = 2;

/** Centred moving average; at the ends it uses the points that exist. */
export function smooth(points: readonly { x: number; y: number }[], reach = SMOOTHING): { x: number; y: number }[] {
  return points.map(({ x }, i) => {
    const near = points.slice(Math.max(0, i - reach), i + reach + 1);
    return { x, y: near.reduce((sum, p) => sum + p.y, 0) / near.length };
  });
}

/** Learning curves with values in [0, 1]: smoothed values as lines, raw values as faint points behind them. */
export function curvesPlot(
  curves: readonly Curve[],
  layout: Layout,
  description: string,
  { firstSeries = 0, reach = SMOOTHING, yTitle = 'mean reward' }: CurvesLook = {},
): Markup {
  const width = WIDTH[layout];
  const height = layout === 'wide' ? 340 : 270;
  const area = { left: 40, right: width - 14, top: 34, bottom: height - 50 };
  const xs = curves.flatMap((c) => c.points.map((p) => p.x));
  const x = linear([Math.min(...xs), Math.max(...xs)], [area.left + 6, area.right - 6]);
  const y = linear([0, 1], [area.bottom, area.top]);
  const smoothed = (curve: Curve) => pathThrough(smooth(curve.points, reach).map((p) => ({ x: x(p.x), y: y(p.y) })));
  return drawing(width, height, description, [
    ...xAxis(
      x,
      ticks(x.domain[0], x.domain[1], layout === 'wide' ? 8 : 5).filter(Number.isInteger),
      area.top,
      area.bottom,
      count,
      'iteration',
    ),
    ...yAxis(y, [0, 0.2, 0.4, 0.6, 0.8, 1], area.left, area.right, (v) => decimal(v, 1), yTitle),
    ...curves.flatMap((c, i) =>
      c.points.map(
        (p) =>
          markup`<circle cx="${x(p.x)}" cy="${y(p.y)}" r="2" class="raw ${seriesLook(firstSeries + i)}"
            ><title>${c.name}, iteration ${p.x}: ${decimal(p.y)}</title></circle
          >`,
      ),
    ),
    ...curves.map(
      (c, i) => markup`<path d="${smoothed(c)}" class="${curveLook(firstSeries + i)}"><title>${c.name}</title></path>`,
    ),
  ]);
}

const curveLook = (series: number): string => `curve ${seriesLook(series)}`;

const legendLine = (series: number): Markup => {
  const path = markup`<path d="M1 5H33" class="${curveLook(series)}" />`;
  return markup`<svg viewBox="0 0 34 10" width="34" height="10" aria-hidden="true">${path}</svg>`;
};

/** The legend of `curvesPlot`: a sample of each line with its name. */
export const curvesLegend = (curves: readonly Curve[], firstSeries = 0): Markup =>
  markup`<ul class="legend">
    ${curves.map(
      (c, i) =>
        markup`<li>
          ${legendLine(firstSeries + i)} ${c.name}
        </li>`,
    )}
  </ul>`;
