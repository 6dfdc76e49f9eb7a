import { percent } from '../html/format';
import { markup, type Markup } from '../html/markup';
import { drawing, label, type Layout, line, linear, ticks, WIDTH, xAxis, yAxis } from './svg';

/** One bin of stated probability. Shares are in [0, 1]. */
interface ReliabilityPoint {
  /** Mean of the stated probabilities. */
  stated: number;
  /** Share of choices that were right, with its interval. */
  right: number;
  low: number;
  high: number;
  tasks: number;
}

const titleOf = ({ stated, right, tasks }: ReliabilityPoint): Markup =>
  markup`<title>stated ${percent(stated)}, right ${percent(right)} of ${tasks}</title>`;

/**
 * Stated probability against the share of right choices; on the diagonal the two are equal. The area of a mark grows
 * with its number of tasks.
 */
export function reliabilityPlot(points: readonly ReliabilityPoint[], layout: Layout, description: string): Markup {
  const width = WIDTH[layout];
  const side = layout === 'wide' ? 400 : 260;
  const area = { left: 48, top: 34, bottom: 34 + side };
  const right = area.left + side;
  const lowest = Math.min(...points.map(({ stated, low }) => Math.min(stated, low)));
  const from = Math.max(0, Math.floor(lowest * 5) / 5);
  const x = linear([from, 1], [area.left, right]);
  const y = linear([from, 1], [area.bottom, area.top]);
  const values = ticks(from, 1, layout === 'wide' ? 6 : 4);
  const most = Math.max(...points.map(({ tasks }) => tasks));
  const radius = ({ tasks }: ReliabilityPoint) => 3.5 + 7 * Math.sqrt(tasks / most);
  return drawing(width, area.bottom + 50, description, [
    ...xAxis(x, values, area.top, area.bottom, (v) => percent(v, 0), 'probability that the router stated'),
    ...yAxis(y, values, area.left, right, (v) => percent(v, 0), 'share of choices that were right'),
    line(x(from), y(from), x(1), y(1), 'threshold'),
    ...points.map((p) => line(x(p.stated), y(p.low), x(p.stated), y(p.high), 'error s1')),
    ...points.map(
      (p) =>
        markup`<circle cx="${x(p.stated)}" cy="${y(p.right)}" r="${radius(p)}" class="mark s1">${titleOf(p)}</circle>`,
    ),
    ...(layout === 'wide'
      ? [
          label(right + 24, area.top + 14, 'above the line: right more often than it said', { look: 'muted' }),
          label(right + 24, area.top + 34, 'below the line: less often', { look: 'muted' }),
        ]
      : []),
  ]);
}
