import { decimal } from '../html/format';
import { markup, type Markup } from '../html/markup';
import {
  drawing,
  FONT,
  label,
  type Layout,
  line,
  linear,
  region,
  roundUp,
  textWidth,
  ticks,
  WIDTH,
  xAxis,
  yAxis,
} from './svg';

/** One candidate capability. */
export interface ScatterPoint {
  /** The point's number in the table under the plot; the narrow layout shows it instead of the name. */
  number: number;
  name: string;
  /** Coverage, in [0, 1]. */
  x: number;
  /** Gap, in [-1, 1], with its interval. */
  y: number;
  yLow: number;
  yHigh: number;
  kept: boolean;
}

/** Thresholds: the kept region is above and to the right of them. */
interface ScatterOptions {
  minX: number;
  minY: number;
}

/** A rectangle of the drawing that a name should not cover. */
interface Box {
  left: number;
  right: number;
  top: number;
  bottom: number;
}

/** Position of a point in the drawing. */
interface Spot {
  x: number;
  y: number;
}

const overlaps = (a: Box, b: Box) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;

/**
 * Gap against coverage. Kept capabilities are filled circles, dropped ones open diamonds; the kept region is shaded and
 * its thresholds are drawn.
 */
export function scatterPlot(
  points: readonly ScatterPoint[],
  { minX, minY }: ScatterOptions,
  layout: Layout,
  description: string,
): Markup {
  const width = WIDTH[layout];
  const height = layout === 'wide' ? 440 : 340;
  const area = { left: 48, right: width - 16, top: 34, bottom: height - 50 };
  const highest = roundUp(Math.max(minX * 1.5, ...points.map((p) => p.x)) * 1.05, 5);
  const x = linear([0, Math.min(1, highest)], [area.left, area.right]);
  const lowest = Math.min(0, ...points.map((p) => p.yLow));
  const y = linear([Math.max(-1, Math.floor(lowest * 5) / 5), 1], [area.bottom, area.top]);
  const thresholdX = `min coverage ${decimal(minX)}`;
  const thresholdY = `min gap ${decimal(minY)}`;
  const spots = points.map((p): Spot => ({ x: x(p.x), y: y(p.y) }));
  const taken: Box[] = [
    ...points.map((p): Box => ({ left: x(p.x) - 7, right: x(p.x) + 7, top: y(p.y) - 7, bottom: y(p.y) + 7 })),
    // A number is small enough to stand on an error bar, which would cross out a name.
    ...(layout === 'wide'
      ? points.map((p): Box => ({ left: x(p.x) - 2, right: x(p.x) + 2, top: y(p.yHigh), bottom: y(p.yLow) }))
      : []),
    textBox(area.right - 4 - textWidth(thresholdY), y(minY) + 15, thresholdY),
    textBox(x(minX) + 5, area.bottom - 6, thresholdX),
  ];
  return drawing(width, height, description, [
    region(x(minX), area.top, area.right - x(minX), y(minY) - area.top),
    ...xAxis(
      x,
      ticks(0, x.domain[1], layout === 'wide' ? 6 : 4),
      area.top,
      area.bottom,
      (v) => decimal(v),
      'coverage: share of all failures that lack it',
    ),
    ...yAxis(
      y,
      ticks(y.domain[0], 1, 6),
      area.left,
      area.right,
      (v) => decimal(v, 1),
      layout === 'wide' ? 'gap: share lacking it among failures minus among successes' : 'gap',
    ),
    line(area.left, y(minY), area.right, y(minY), 'threshold'),
    line(x(minX), area.top, x(minX), area.bottom, 'threshold'),
    label(area.right - 4, y(minY) + 15, thresholdY, { anchor: 'end', look: 'accent' }),
    label(x(minX) + 5, area.bottom - 6, thresholdX, { look: 'accent' }),
    ...points.map((p) => line(x(p.x), y(p.yLow), x(p.x), y(p.yHigh), p.kept ? 'error s1' : 'error sx')),
    ...points.map((p) => mark(x(p.x), y(p.y), p)),
    ...points.map((p, i) =>
      nameOf(
        p,
        spots[i] as Spot,
        spots.filter((_, k) => k !== i),
        layout === 'wide' ? p.name : String(p.number),
        area,
        taken,
      ),
    ),
  ]);
}

function mark(cx: number, cy: number, point: ScatterPoint): Markup {
  const range = `${decimal(point.yLow)} to ${decimal(point.yHigh)}`;
  const verdict = point.kept ? 'kept' : 'dropped';
  const title = markup`<title>
    ${point.name}: coverage ${decimal(point.x)}, gap ${decimal(point.y)} (${range}), ${verdict}
  </title>`;
  if (point.kept) return markup`<circle cx="${cx}" cy="${cy}" r="6" class="mark s1">${title}</circle>`;
  const diamond = markup`M${cx} ${cy - 7}L${cx + 7} ${cy}L${cx} ${cy + 7}L${cx - 7} ${cy}Z`;
  return markup`<path d="${diamond}" class="mark open sx">${title}</path>`;
}

const textBox = (left: number, baseline: number, text: string): Box => ({
  left,
  right: left + textWidth(text),
  top: baseline - FONT + 1,
  bottom: baseline + 4,
});

/** A possible place for a name: its left end and its baseline. */
interface Place {
  left: number;
  baseline: number;
}

/**
 * Puts a name at the first place around its point where it covers nothing and is clearly nearer to its own point than
 * to others. If there is no such place, it takes the best one.
 */
function nameOf(point: ScatterPoint, at: Spot, others: readonly Spot[], text: string, area: Box, taken: Box[]): Markup {
  const width = textWidth(text);
  const places = [0, 15, -15, 28, -28, 42, -42, 56, -56].flatMap((dy): Place[] => [
    { left: at.x + 11, baseline: at.y + 4 + dy },
    { left: at.x - 11 - width, baseline: at.y + 4 + dy },
    ...(dy === 0 ? [] : [{ left: at.x - width / 2, baseline: at.y + 4 + dy }]),
  ]);
  const inside = places.filter(
    ({ left, baseline }) =>
      left >= area.left + 2 && left + width <= area.right && baseline - FONT >= area.top && baseline + 4 <= area.bottom,
  );
  const distance = ({ left, baseline }: Place, spot: Spot) =>
    Math.hypot(
      Math.max(left - spot.x, 0, spot.x - left - width),
      Math.max(baseline - FONT - spot.y, 0, spot.y - baseline),
    );
  const cost = (place: Place) => {
    const covered = taken.filter((box) => overlaps(textBox(place.left, place.baseline, text), box)).length;
    return 2 * covered + (others.some((other) => distance(place, other) < 1.6 * distance(place, at)) ? 1 : 0);
  };
  const candidates = inside.length > 0 ? inside : places;
  const best = candidates.reduce((kept, place) => (cost(place) < cost(kept) ? place : kept));
  taken.push(textBox(best.left, best.baseline, text));
  return label(best.left, best.baseline, text, { look: point.kept ? 'strong halo' : 'muted halo' });
}
