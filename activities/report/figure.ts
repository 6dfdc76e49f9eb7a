import type { ArtifactRef } from '../../contracts/artifacts/artifact-ref';
import { typeset } from '../html/format';
import { markup, type Markup } from '../html/markup';
import { type DataTable, dataTable } from '../html/table';
import { artifactLink } from './artifact-links';

/** One figure of the report. */
interface FigureOptions {
  id: string;
  title: string;
  /** The message of the figure, in a sentence or two. */
  takeaway: string;
  body: Markup;
  data?: DataTable;
  /** The artifacts from which the figure was drawn. */
  sources: readonly Pick<ArtifactRef, 'key' | 'sha256'>[];
}

/** A figure with its title, takeaway, body, numbers as a table, and links to its artifacts. */
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

/** With more links than this, they are collapsed. */
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
