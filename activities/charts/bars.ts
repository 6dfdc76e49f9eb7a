import { markup, type Markup } from '../html/markup';
import { drawing, label, type Layout, line, linear, roundUp, ticks, WIDTH } from './svg';

/** One bar, with its parts from left to right. `look` has classes of the style sheet. */
interface BarRow {
  name: string;
  parts: readonly { name: string; value: number; look: string }[];
  /** Text at the end of the bar. */
  note: string;
}

/** The meaning of a bar's length. */
interface BarScale {
  format: (value: number) => string;
  /** About `wanted` axis values from zero for a longest bar of `longest`; the last value is at least `longest`. */
  axis: (longest: number, wanted: number) => number[];
}

/** Axis of plain numbers. */
export function countAxis(longest: number, wanted: number): number[] {
  return ticks(0, roundUp(longest, wanted), wanted);
}

/** Axis of seconds, with steps as on clocks: 10 s, 30 s, 5 min. */
export function timeAxis(longest: number, wanted: number): number[] {
  const steps = [0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400, 43_200];
  const step = steps.find((s) => longest / s <= wanted) ?? 86_400 * Math.ceil(longest / 86_400 / wanted);
  return Array.from({ length: Math.max(1, Math.ceil(longest / step - 1e-9)) + 1 }, (_, i) =>
    Number((i * step).toPrecision(6)),
  );
}

/** Horizontal stacked bars that start at zero. */
export function barsPlot(
  rows: readonly BarRow[],
  { format, axis }: BarScale,
  layout: Layout,
  description: string,
): Markup {
  const width = WIDTH[layout];
  const step = 34;
  const area = { left: 92, right: width - (layout === 'wide' ? 190 : 104), top: 6, bottom: 6 + rows.length * step };
  const total = (row: BarRow) => row.parts.reduce((sum, part) => sum + part.value, 0);
  const values = axis(Math.max(...rows.map(total)), layout === 'wide' ? 5 : 2);
  const x = linear([0, values.at(-1) ?? 1], [area.left, area.right]);
  return drawing(width, area.bottom + 28, description, [
    ...values.flatMap((v) => [
      line(x(v), area.top, x(v), area.bottom, 'grid'),
      label(x(v), area.bottom + 18, format(v), { anchor: 'middle', look: 'muted' }),
    ]),
    ...rows.flatMap((row, i) => {
      const top = area.top + i * step + 6;
      let from = 0;
      const parts = row.parts.map((part) => {
        const start = from;
        from += part.value;
        const barWidth = Math.max(0, x(from) - x(start));
        const look = `bar ${part.look}`;
        return markup`<rect x="${x(start)}" y="${top}" width="${barWidth}" height="${step - 12}" class="${look}"
          ><title>${row.name}, ${part.name}: ${format(part.value)}</title></rect
        >`;
      });
      return [
        label(area.left - 10, top + 16, row.name, { anchor: 'end' }),
        ...parts,
        label(x(from) + 8, top + 16, row.note, { look: 'muted' }),
      ];
    }),
  ]);
}
