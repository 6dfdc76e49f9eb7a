import { markup, type Markup } from './markup';

/** A table as data. It is also a plot's text version for screen readers. */
export interface DataTable {
  head: readonly (string | Markup)[];
  /** The first cell of each row is its heading. */
  rows: readonly (readonly (string | Markup)[])[];
}

interface TableOptions {
  /** Its name for those who cannot see it. Default: the heads of its columns, which must be text then. */
  name?: string;
  /** Class of the style sheet. */
  look?: string;
  /** Index of the row that stands out. */
  marked?: number;
}

/**
 * A table that scrolls by itself on narrow pages. Columns of cells that all start with a number are set flush right.
 */
export function dataTable({ head, rows }: DataTable, { name, look = '', marked }: TableOptions = {}): Markup {
  const numeric = (cell: string | Markup) =>
    /^[+\u2212-]?\d/.test(typeof cell === 'string' ? cell : cell.text) ? 'number' : '';
  const right = head.map(
    (_, column) => rows.length > 0 && rows.every((row) => numeric(row[column] ?? '') !== '' || row[column] === '–'),
  );
  const dataCell = (cell: string | Markup, column: number) =>
    markup`<td class="${right[column] ? 'number' : ''}">${cell}</td>`;
  const label =
    name ?? `table: ${head.filter((cell): cell is string => typeof cell === 'string' && cell !== '').join(', ')}`;
  return markup`<div class="scroll" role="region" aria-label="${label}" tabindex="0">
    <table class="${look}">
      <thead>
        <tr>
          ${head.map((h, i) => markup`<th scope="col" class="${right[i] ? 'number' : ''}">${h}</th>`)}
        </tr>
      </thead>
      <tbody>
        ${rows.map(
          (row, r) =>
            markup`<tr class="${r === marked && 'routed'}">
              ${row.map((cell, i) => (i === 0 ? markup`<th scope="row">${cell}</th>` : dataCell(cell, i)))}
            </tr> `,
        )}
      </tbody>
    </table>
  </div>`;
}
