import { markup, type Markup } from './markup';

/** A table as data: also the text of a plot for those who cannot see it. */
export interface DataTable {
  head: readonly string[];
  /** The first cell of a row heads it. */
  rows: readonly (readonly (string | Markup)[])[];
}

/** The table, scrollable by itself where the page is narrow. Cells that start with a number are set flush right. */
export function dataTable({ head, rows }: DataTable, look = ''): Markup {
  const numeric = (cell: string | Markup) =>
    /^[+\u2212-]?\d/.test(typeof cell === 'string' ? cell : cell.text) ? 'number' : '';
  const right = head.map(
    (_, column) => rows.length > 0 && rows.every((row) => numeric(row[column] ?? '') !== '' || row[column] === '–'),
  );
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
              ${row.map((cell, i) => (i === 0 ? markup`<th scope="row">${cell}</th>` : markup`<td class="${right[i] ? 'number' : ''}">${cell}</td>`))}
            </tr> `,
        )}
      </tbody>
    </table>
  </div>`;
}
