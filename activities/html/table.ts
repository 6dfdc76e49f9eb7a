import { markup, type Markup } from './markup';

/** A table as data. It is also the text of a plot for those who cannot see it. */
export interface DataTable {
  head: readonly string[];
  /** The first cell of each row is its heading. */
  rows: readonly (readonly (string | Markup)[])[];
}

/**
 * A table that scrolls by itself on narrow pages. Columns of cells that all start with a number are set flush right.
 * `look` are classes of the style sheet.
 */
export function dataTable({ head, rows }: DataTable, look = ''): Markup {
  const numeric = (cell: string | Markup) =>
    /^[+\u2212-]?\d/.test(typeof cell === 'string' ? cell : cell.text) ? 'number' : '';
  const right = head.map(
    (_, column) => rows.length > 0 && rows.every((row) => numeric(row[column] ?? '') !== '' || row[column] === '–'),
  );
  const dataCell = (cell: string | Markup, column: number) =>
    markup`<td class="${right[column] ? 'number' : ''}">${cell}</td>`;
  return markup`<div class="scroll" role="region" aria-label="table: ${head.filter(Boolean).join(', ')}" tabindex="0">
    <table class="${look}">
      <thead>
        <tr>
          ${head.map((h, i) => markup`<th scope="col" class="${right[i] ? 'number' : ''}">${h}</th>`)}
        </tr>
      </thead>
      <tbody>
        ${rows.map(
          (row) =>
            markup`<tr>
              ${row.map((cell, i) => (i === 0 ? markup`<th scope="row">${cell}</th>` : dataCell(cell, i)))}
            </tr> `,
        )}
      </tbody>
    </table>
  </div>`;
}
