import type { Interval } from '../../contracts/artifacts/evaluation';
import { percent, percentRange } from '../html/format';
import { markup, type Markup } from '../html/markup';
import { drawing, label, type Layout, line, linear, shorten, WIDTH, xAxis } from './svg';

/** One arm of the forest plot. */
export interface ForestRow {
  name: string;
  rate: Interval;
  look: 'base' | 'routed' | 'other';
}

const PERCENT_TICKS = [0, 0.2, 0.4, 0.6, 0.8, 1];
const percentTick = (v: number) => percent(v, 0);

/** Pass rates with their intervals, one row for each arm. */
export function forestPlot(rows: readonly ForestRow[], layout: Layout, description: string): Markup {
  const width = WIDTH[layout];
  const step = layout === 'wide' ? 34 : 46;
  const left = layout === 'wide' ? 290 : 12;
  const area = { left, right: width - 26, top: 8, bottom: 8 + rows.length * step + 6 };
  const x = linear([0, 1], [area.left, area.right]);
  return drawing(width, area.bottom + 50, description, [
    ...xAxis(x, PERCENT_TICKS, area.top, area.bottom, percentTick, 'tasks passed'),
    ...rows.map(({ name, rate, look }, i) => {
      const middle = area.top + (i + (layout === 'wide' ? 0.5 : 0.68)) * step;
      const title = markup`<title>${name}: ${percent(rate.estimate)} (${percentRange(rate)})</title>`;
      return markup`<g class="${look}"
        >${
          layout === 'wide'
            ? label(0, middle + 4, shorten(name, left - 20), { look: look === 'other' ? '' : 'strong' })
            : label(area.left, middle - 12, shorten(name, area.right - area.left), {
                look: look === 'other' ? 'halo' : 'strong halo',
              })
        }${whisker(x(rate.low), x(rate.high), middle)}<circle
          cx="${x(rate.estimate)}"
          cy="${middle}"
          r="5.5"
          class="dot"
          >${title}</circle
        ></g
      >`;
    }),
  ]);
}

/** An interval as a horizontal line with a stroke at each end. */
const whisker = (low: number, high: number, middle: number): Markup[] => [
  line(low, middle, high, middle, 'whisker'),
  line(low, middle - 5, low, middle + 5, 'whisker'),
  line(high, middle - 5, high, middle + 5, 'whisker'),
];

/** Pass rates of base and routed for one kind of task, in [0, 1]. */
interface ChangeRow {
  name: string;
  base: number;
  routed: number;
  /** Text at the end of the row; the narrow layout shows `shortNote` instead. */
  note: string;
  shortNote: string;
}

/** Base against routed by kind of task: a line joins an open dot for base and a filled one for routed. */
export function changePlot(rows: readonly ChangeRow[], layout: Layout, description: string): Markup {
  const width = WIDTH[layout];
  const step = layout === 'wide' ? 36 : 52;
  const left = layout === 'wide' ? 230 : 14;
  const area = { left, right: width - (layout === 'wide' ? 200 : 26), top: 30, bottom: 30 + rows.length * step + 4 };
  const x = linear([0, 1], [area.left, area.right]);
  return drawing(width, area.bottom + 50, description, [
    ...key(area.left),
    ...xAxis(x, PERCENT_TICKS, area.top, area.bottom, percentTick, 'tasks passed'),
    ...rows.map(({ name, base, routed, note, shortNote }, i) => {
      const middle = area.top + (i + (layout === 'wide' ? 0.5 : 0.7)) * step;
      const names =
        layout === 'wide'
          ? [
              label(0, middle + 4, shorten(name, left - 20)),
              label(area.right + 16, middle + 4, note, { look: 'muted' }),
            ]
          : [
              label(area.left, middle - 13, shorten(name, area.right - area.left - 60), { look: 'strong halo' }),
              label(area.right, middle - 13, shortNote, { anchor: 'end', look: 'muted halo' }),
            ];
      const joint = line(x(base), middle, x(routed), middle, 'joint');
      const [baseTitle, routedTitle] = [`${name}, base: ${percent(base)}`, `${name}, routed: ${percent(routed)}`];
      return markup`${names}${joint}<circle cx="${x(base)}" cy="${middle}" r="5" class="dot hollow"
          ><title>${baseTitle}</title></circle
        ><circle cx="${x(routed)}" cy="${middle}" r="6" class="dot filled"><title>${routedTitle}</title></circle>`;
    }),
  ]);
}

/** The legend. */
const key = (left: number): Markup[] => [
  markup`<circle cx="${left + 6}" cy="10" r="5" class="dot hollow" />`,
  label(left + 18, 14, 'base'),
  markup`<circle cx="${left + 76}" cy="10" r="6" class="dot filled" />`,
  label(left + 89, 14, 'routed'),
];
