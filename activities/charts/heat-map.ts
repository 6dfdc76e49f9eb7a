import { percent, plural } from '../html/format';
import { markup, type Markup } from '../html/markup';
import { drawing, label, labelLines, type Layout, shorten, WIDTH, wrap } from './svg';

/** Numbers of tasks by kind (rows) and by choice (columns). */
interface HeatMapOptions {
  rows: readonly string[];
  /** `short` is the heading of a column that is too narrow for the name. */
  columns: readonly { name: string; short: string }[];
  tasks: readonly (readonly number[])[];
  /** Column of each row's right choice; null if there is none. */
  expected: readonly (number | null)[];
  columnTitle: string;
}

/** Columns of at least this width show the name, narrower ones a letter. */
const NAMED = 90;

/** Largest number of columns whose names fit into the wide layout. */
export const MOST_NAMED = Math.floor((WIDTH.wide - 232) / NAMED);

/** Height of a cell. */
const CELL = 40;

/**
 * Heat map of counts. A cell is as dark as its share of the row; a frame marks the right choice. The narrow layout puts
 * a row's name above its cells.
 */
export function heatMap(
  { rows, columns, tasks, expected, columnTitle }: HeatMapOptions,
  layout: Layout,
  description: string,
): Markup {
  const width = WIDTH[layout];
  const wide = layout === 'wide';
  const left = wide ? 230 : 0;
  const step = wide ? CELL : CELL + 26;
  const cell = Math.min((width - left - 2) / columns.length, 150);
  const names = columns.map((c) => (cell >= NAMED ? wrap(c.name, cell - 8, 3) : [c.short]));
  const head = 26 + Math.max(...names.map((n) => n.length)) * 16;
  const rowName = (row: string, top: number) =>
    wide
      ? label(left - 12, top + CELL / 2 + 4, shorten(row, left - 14), { anchor: 'end' })
      : label(2, top - 5, shorten(row, width - 4), { look: 'strong' });
  return drawing(width, head + rows.length * step + 4, description, [
    label(left + 2, 13, shorten(columnTitle, width - left), { look: 'muted' }),
    ...columns.flatMap((_, c) => {
      const lines = names[c] as string[];
      return labelLines(left + (c + 0.5) * cell, head - 8 - (lines.length - 1) * 16, lines, { anchor: 'middle' });
    }),
    ...rows.flatMap((row, r) => {
      const counts = tasks[r] as readonly number[];
      const total = counts.reduce((a, b) => a + b, 0);
      const top = head + r * step + (step - CELL);
      return [
        rowName(row, top),
        ...counts.map((n, c) => {
          const share = total === 0 ? 0 : n / total;
          const hover = `${row} sent to ${columns[c]?.name ?? ''}: ${plural(n, 'task')} (${percent(share)})`;
          const look = n === 0 ? 'muted' : share > 0.55 ? 'on-dark' : '';
          return markup`<g
            ><rect
              x="${left + c * cell + 2}"
              y="${top + 2}"
              width="${cell - 4}"
              height="${CELL - 4}"
              rx="3"
              class="cell${expected[r] === c && ' right'}"
              style="--share:${share}"
              ><title>${hover}</title></rect
            >${label(left + (c + 0.5) * cell, top + CELL / 2 + 5, String(n), { anchor: 'middle', look })}</g
          >`;
        }),
      ];
    }),
  ]);
}
