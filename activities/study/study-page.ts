import type { StabilityStudy, StudyCapability } from '../../contracts/artifacts/study';
import { bothLayouts, drawing, label, type Layout, line, linear, shorten, ticks, WIDTH, xAxis } from '../charts/svg';
import { decimal, sentenceList } from '../html/format';
import { htmlDocument } from '../html/html-document';
import { markup, type Markup } from '../html/markup';
import { dataTable } from '../html/table';

const ROW = 34;
/** The paper calls an identification stable if repeated gaps differ from their mean by at most this. */
const BAND = 0.05;

const DATA_LINK = markup`<a href="study.json">study.json</a>`;
const FIGURE_LINK = markup`<a href="stability.svg">stability.svg</a>`;

/**
 * Draws the paper's figure 2: for each capability the gaps and coverages of all identifications. A tick marks their
 * mean. A band of 0.05 surrounds the mean of the gap. A filled circle means that this identification kept the
 * capability.
 */
export function stabilityFigure(study: StabilityStudy, layout: Layout): Markup {
  const { capabilities, identifications } = study;
  const width = WIDTH[layout];
  const names = layout === 'wide' ? 250 : 0;
  const half = (width - names - 60) / 2;
  const rowHeight = layout === 'wide' ? ROW : ROW + 18;
  const top = 40;
  const bottom = top + capabilities.length * rowHeight;
  const gaps = capabilities.flatMap(({ points }) => points.flatMap(({ gap }) => gap ?? []));
  const coverages = capabilities.flatMap(({ points }) => points.map(({ coverage }) => coverage));
  const gap = linear([Math.min(0, ...gaps) - 0.05, Math.max(0.4, ...gaps) + 0.05], [names + 10, names + 10 + half]);
  const coverage = linear([0, Math.max(0.2, ...coverages) + 0.05], [names + half + 45, width - 10]);
  const rows = capabilities.flatMap((capability, i) => {
    const y = top + (i + 0.5) * rowHeight + (layout === 'wide' ? 0 : 9);
    const count = `${capability.kept} of ${identifications.length}`;
    return [
      layout === 'wide'
        ? label(names - 4, y + 4, `${shorten(capability.name, names - 70)}  ${count}`, {
            anchor: 'end',
            look: capability.kept > 0 ? 'strong' : 'muted',
          })
        : label(4, y - 14, `${shorten(capability.name, width - 90)}  ${count}`, {
            look: capability.kept > 0 ? 'strong' : 'muted',
          }),
      ...series(capability, y, 'gap', gap),
      ...series(capability, y, 'coverage', coverage),
    ];
  });
  const found = capabilities.map(
    ({ name, kept, gap: of, coverage: share }) =>
      `${name}: kept by ${kept}, gap ${of ? decimal(of.mean) : 'none'}, coverage ${decimal(share.mean)}`,
  );
  const tick = (value: number) => decimal(value, 1);
  return drawing(
    width,
    bottom + 50,
    `Gap and coverage of each capability over ${identifications.length} identifications. ${found.join('; ')}.`,
    [
      ...xAxis(gap, ticks(...gap.domain, layout === 'wide' ? 6 : 3), top, bottom, tick, 'gap'),
      ...xAxis(coverage, ticks(...coverage.domain, layout === 'wide' ? 5 : 3), top, bottom, tick, 'coverage'),
      label(layout === 'wide' ? names - 4 : 4, 20, `kept by … of ${identifications.length}`, {
        anchor: layout === 'wide' ? 'end' : 'start',
        look: 'muted',
      }),
      ...rows,
    ],
  );
}

function series(
  { name, points, gap, coverage }: StudyCapability,
  y: number,
  quantity: 'gap' | 'coverage',
  x: ReturnType<typeof linear>,
): Markup[] {
  const spread = quantity === 'gap' ? gap : coverage;
  if (spread === null) return [];
  const dots = points.flatMap((point) => {
    const value = point[quantity];
    if (value === null) return [];
    // The circles of a row are shifted up and down a little, so that equal values can be distinguished.
    const shifted = y - 7 + ((point.identification % 5) * 14) / 4;
    const kept = point.verdict === 'kept';
    const at = `${quantity} ${decimal(value, 3)}, ${point.verdict}`;
    const title = `${name}, identification ${point.identification + 1}: ${at}`;
    return [
      markup`<circle cx="${x(value)}" cy="${shifted}" r="4" class="mark ${kept ? 's1' : 'open sx'}"
        ><title>${title}</title></circle
      >`,
    ];
  });
  const bandStart = x(spread.mean - BAND);
  const bandWidth = x(spread.mean + BAND) - bandStart;
  return [
    quantity === 'gap' &&
      markup`<rect x="${bandStart}" y="${y - 12}" width="${bandWidth}" height="24" class="region" />`,
    line(x(spread.mean), y - 12, x(spread.mean), y + 12, 'mean'),
    ...dots,
  ].filter((part) => part !== false);
}

/** The study as one HTML document. */
export function renderStudyPage(study: StabilityStudy): string {
  const { capabilities, identifications, keptByAll, keptAgreement } = study;
  const nameOf = (id: string) => capabilities.find((c) => c.id === id)?.name ?? id;
  const spread = (value: StudyCapability['coverage'] | null) =>
    value === null
      ? '–'
      : `${decimal(value.mean)} ± ${value.standardDeviation === null ? '–' : decimal(value.standardDeviation, 3)}`;
  const { studyId, createdAt, agent } = study;
  const lead =
    `${identifications.length} identifications of the same ${study.trajectories} trajectories ` +
    `(run ${study.sourceRun}), each with its own\ndiscovery batches and its own labels by ${study.analyst}. ` +
    `Capabilities that every identification kept: ${sentenceList(keptByAll.map(nameOf))}.`;
  const caption =
    'One mark for each identification, filled where it kept the capability; the upright stroke is\n' +
    `the mean, the band ±${decimal(BAND)} around it. Capabilities of two identifications are the same when ` +
    'they are lacking in the same trajectories (Jaccard index\nof at least one half), whatever they are called. ' +
    `Agreement of the kept sets over all pairs: ${keptAgreement === null ? 'not known' : decimal(keptAgreement)}.`;
  const heading = markup`<h1>How stable is identification for ${agent}?</h1>`;
  return htmlDocument(
    `Whetstone: stability of identification, ${agent}`,
    markup`<header class="top"><p class="eyebrow">Study ${studyId}, ${createdAt}</p>${heading}</header>
<main>
<p class="lead">${lead}</p>
<figure id="stability">
<figcaption><h3>Gap and coverage over identifications</h3><p>${caption}</p></figcaption>
${bothLayouts((layout) => stabilityFigure(study, layout))}
<div class="source">Data: ${DATA_LINK}</div>
</figure>
${dataTable({
  head: ['Capability', 'Named', 'Kept', 'Gap (mean ± SD)', 'Largest deviation', 'Coverage (mean ± SD)', 'Other names'],
  rows: capabilities.map((c) => [
    c.name,
    `${c.named} of ${identifications.length}`,
    `${c.kept} of ${identifications.length}`,
    spread(c.gap),
    c.gap === null ? '–' : decimal(c.gap.largestDeviation, 3),
    spread(c.coverage),
    c.names.slice(1).join('; ') || '–',
  ]),
})}
</main>
<footer>Written by Whetstone. The same figures as data: ${DATA_LINK}; the figure: ${FIGURE_LINK}.</footer>`,
  );
}
