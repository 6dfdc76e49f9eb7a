import type { ArtifactRef } from '../../contracts/artifacts/artifact-ref';
import { typeset } from './format';
import { artifactLink } from './links';
import { markup, type Markup } from './markup';

/** A table as data: also the text of a plot for those who cannot see it. */
export interface DataTable {
  head: readonly string[];
  /** The first cell of a row heads it. */
  rows: readonly (readonly (string | Markup)[])[];
}

/** One figure of the report. */
export interface FigureOptions {
  id: string;
  title: string;
  /** What to see in it, in a sentence or two. */
  takeaway: string;
  body: Markup;
  data?: DataTable;
  /** What the figure was drawn from. */
  sources: readonly Pick<ArtifactRef, 'key' | 'sha256'>[];
}

/** A plot with its title, what it shows, its numbers as a table, and links to its artifacts. */
export function figure(runId: string, { id, title, takeaway, body, data, sources }: FigureOptions): Markup {
  return markup`<figure id="${id}">
    <figcaption>
      <h3>${title}</h3>
      <p>${typeset(takeaway)}</p>
    </figcaption>
    ${body}
    ${
      data &&
      markup`<details>
        <summary>Numbers</summary>
        ${dataTable(data)}
      </details>`
    }
    <div class="source">${sourceList(runId, sources)}</div>
  </figure>`;
}

/** How many links are shown at once; the artifact table at the end has them all. */
const FEW = 3;

function sourceList(runId: string, sources: FigureOptions['sources']): Markup {
  const links = (refs: FigureOptions['sources']) =>
    refs.map((ref) => markup`<span class="ref">${artifactLink(runId, ref)}</span> `);
  if (sources.length <= FEW) return markup`Data: ${links(sources)}`;
  return markup`<details class="refs">
    <summary>Data: ${sources.length} artifacts</summary>
    ${links(sources)}
  </details>`;
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
