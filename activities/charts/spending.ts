import { count, points } from '../html/format';
import { markup, type Markup } from '../html/markup';
import {
  drawing,
  label,
  type Layout,
  line,
  linear,
  pathThrough,
  roundUp,
  seriesLook,
  ticks,
  WIDTH,
  xAxis,
  yAxis,
} from './svg';

/** The figures after a number of rollouts. Gains are differences of pass rates. */
interface SpendingPoint {
  rollouts: number;
  gain: number;
  standardError: number;
  oracleGain: number;
}

const [OURS, ORACLE] = [0, 1];

/** Gain over base by rollouts spent, for the best kind, with its standard error, and for the oracle. */
export function spendingPlot(steps: readonly SpendingPoint[], layout: Layout, description: string): Markup {
  const width = WIDTH[layout];
  const height = layout === 'wide' ? 260 : 230;
  const area = { left: 48, right: width - (layout === 'wide' ? 150 : 20), top: 34, bottom: height - 50 };
  const ends = steps.flatMap(({ gain, standardError, oracleGain }) => [
    gain - standardError,
    gain + standardError,
    oracleGain,
  ]);
  const x = linear([0, roundUp(Math.max(...steps.map(({ rollouts }) => rollouts)))], [area.left, area.right]);
  const low = Math.min(0, ...ends);
  const y = linear([low < 0 ? -roundUp(-low) : 0, roundUp(Math.max(0.01, ...ends))], [area.bottom, area.top]);
  const path = (value: (step: SpendingPoint) => number) =>
    pathThrough(steps.map((step) => ({ x: x(step.rollouts), y: y(value(step)) })));
  const curve = (series: number, value: (step: SpendingPoint) => number, name: string) => [
    markup`<path d="${path(value)}" class="curve ${seriesLook(series)}"><title>${name}</title></path>`,
    ...steps.map(
      (step) =>
        markup`<circle cx="${x(step.rollouts)}" cy="${y(value(step))}" r="4" class="mark ${seriesLook(series)}"
          ><title>${name}, ${count(step.rollouts)} rollouts: ${points(value(step))}</title></circle
        >`,
    ),
  ];
  const last = steps.at(-1)!;
  // The names would overlap where the curves end close together.
  const apart = Math.abs(y(last.gain) - y(last.oracleGain)) < 16 ? (last.gain > last.oracleGain ? -10 : 10) : 0;
  return drawing(width, height, description, [
    ...xAxis(x, ticks(...x.domain, layout === 'wide' ? 6 : 4), area.top, area.bottom, count, 'rollouts bought'),
    ...yAxis(y, ticks(...y.domain, 4), area.left, area.right, points, 'points against base'),
    ...steps.map(({ rollouts, gain, standardError }) =>
      line(x(rollouts), y(gain - standardError), x(rollouts), y(gain + standardError), `error ${seriesLook(OURS)}`),
    ),
    ...curve(ORACLE, ({ oracleGain }) => oracleGain, 'oracle'),
    ...curve(OURS, ({ gain }) => gain, 'best kind'),
    ...(layout === 'wide'
      ? [
          label(area.right + 14, y(last.gain) + 4 + apart, 'best kind'),
          label(area.right + 14, y(last.oracleGain) + 4 - apart, 'oracle', { look: 'muted' }),
        ]
      : []),
  ]);
}
