import type { CallUse } from '../../../contracts/artifacts/analyst-use';
import type { ArtifactRef } from '../../../contracts/artifacts/artifact-ref';
import { sumOfStages } from '../../../contracts/artifacts/environment-use';
import type { Report } from '../../../contracts/artifacts/report';
import { barsPlot, countAxis, timeAxis } from '../../charts/bars';
import { bothLayouts } from '../../charts/svg';
import { bytes, compact, count, duration, percent, plural } from '../../html/format';
import { markup, type Markup } from '../../html/markup';
import { dataTable } from '../../html/table';
import type { ReportDocument } from '../report-document';
import { figure } from '../figure';
import { artifactLink, hrefFrom, shortHash } from '../artifact-links';
import { readsConversations } from './conversations';

/** Time and tokens by stage, the calls to the analyst, and what simulated users and judges spent. */
export function costSection({ report, sources }: ReportDocument): Markup {
  return markup`<h2 id="cost">What it cost</h2>
    ${timeFigure(report, sources.report)} ${tokensFigure(report, sources.report)} ${analystTable(report)}
    ${environmentTable(report)}`;
}

function timeFigure({ runId, stages }: Report, source: ArtifactRef): Markup | null {
  if (stages.length === 0) return null;
  const total = stages.reduce((sum, stage) => sum + stage.seconds, 0);
  const rows = stages.map((s) => ({
    name: s.name,
    parts: [{ name: 'time', value: s.seconds, look: 'time' }],
    note: s.status === 'done' ? duration(s.seconds) : `${duration(s.seconds)}, ${s.status}`,
  }));
  return figure(runId, {
    id: 'time',
    title: 'Time by stage',
    takeaway: `${duration(total)} in all. Waiting for workers and people is in it; writing this report is not.`,
    body: bothLayouts((layout) =>
      barsPlot(
        rows,
        { format: duration, axis: timeAxis },
        layout,
        `Time by stage: ${rows.map((r) => `${r.name} ${r.note}`).join('; ')}.`,
      ),
    ),
    sources: [source],
  });
}

function tokensFigure(report: Report, source: ArtifactRef): Markup | null {
  const { runId, tokens } = report;
  if (tokens.length === 0) return null;
  const stages = [...new Set(tokens.map((t) => t.stage))];
  const sum = (stage: string, kind: 'promptTokens' | 'completionTokens') =>
    tokens.filter((t) => t.stage === stage).reduce((a, t) => a + t[kind], 0);
  const rows = stages.map((stage) => {
    const [read, generated] = [sum(stage, 'promptTokens'), sum(stage, 'completionTokens')];
    return {
      name: stage,
      parts: [
        { name: 'read', value: read, look: 'prompt' },
        { name: 'generated', value: generated, look: 'completion' },
      ],
      note: compact(read + generated),
    };
  });
  const description = `Tokens by stage: ${rows.map((r) => `${r.name} ${r.note}`).join('; ')}.`;
  const all = (kind: 'promptTokens' | 'completionTokens') => tokens.reduce((a, t) => a + t[kind], 0);
  return figure(runId, {
    id: 'tokens',
    title: 'Tokens by stage',
    takeaway:
      `${compact(all('promptTokens'))} tokens read (left part of a bar) ` +
      `and ${compact(all('completionTokens'))} generated (right part), by all models together. ` +
      (readsConversations(report)
        ? 'Nobody but the analyst was asked.'
        : "Trainers count generated tokens only; the router's one-token calls are not counted."),
    body: markup`<ul class="legend">
        <li>
          ${legendBar('prompt')} read
        </li>
        <li>
          ${legendBar('completion')} generated
        </li>
      </ul>
      ${bothLayouts((layout) => barsPlot(rows, { format: compact, axis: countAxis }, layout, description))}`,
    data: {
      head: ['Stage', 'Model', 'Read', 'Generated'],
      rows: tokens.map((t) => [t.stage, t.model, count(t.promptTokens), count(t.completionTokens)]),
    },
    sources: [source],
  });
}

function legendBar(look: 'prompt' | 'completion'): Markup {
  const bar = markup`<rect width="34" height="10" class="bar ${look}" />`;
  return markup`<svg viewBox="0 0 34 10" width="34" height="10" aria-hidden="true">${bar}</svg>`;
}

/**
 * Calls to the analyst, with the savings of the endpoint's cache. It also says how often a prompt was shortened or had
 * parts replaced, so that this does not happen silently.
 */
function analystTable({ analystUse }: Report): Markup | null {
  if (analystUse === undefined) return null;
  const uses = Object.entries(analystUse.calls);
  const sum = (of: (use: CallUse) => number) => uses.reduce((total, [, use]) => total + of(use), 0);
  const [read, cached, shortened] = [sum((u) => u.promptTokens), sum((u) => u.cachedTokens), sum((u) => u.shortened)];
  const lost = sum((u) => u.lost ?? 0);
  const replaced = (use: CallUse) => Object.values(use.redacted).reduce((total, places) => total + places, 0);
  const sentences = [
    `${percent(read === 0 ? 0 : cached / read)} of the tokens sent came from the endpoint's prefix cache.`,
    analystUse.usd === null
      ? 'agent.yaml has no prices, so there is no cost in dollars.'
      : `By the prices of agent.yaml that is $${analystUse.usd.toFixed(2)}.`,
    ...(lost === 0
      ? []
      : [
          `${plural(lost, 'request')} got no answer in time; about ${count(sum((u) => u.lostPromptTokens ?? 0))} tokens ` +
            'were sent in vain, which the budget and the cost count.',
        ]),
    shortened === 0
      ? 'No episode had to be shortened.'
      : `${plural(shortened, 'call')} saw an episode shortened to fit, old tool results first.`,
    sum(replaced) === 0
      ? 'Nothing in the prompts was replaced.'
      : `${count(sum(replaced))} places in the prompts were replaced before they left.`,
  ];
  return markup`<h3 id="analyst-use">Calls to the analyst</h3>
    <p>${sentences.join(' ')}</p>
    ${dataTable({
      head: [
        'Calls for',
        'Calls',
        'Answers billed',
        'Requests sent',
        'Tokens in',
        'Cached',
        'Tokens out',
        'Without an answer',
        'Shortened',
        'Replaced',
      ],
      rows: uses.map(([kind, use]) => [
        kind,
        ...[
          use.calls,
          use.asks,
          use.tries,
          use.promptTokens,
          use.cachedTokens,
          use.completionTokens,
          use.unanswered,
          use.shortened,
          replaced(use),
        ].map(count),
      ]),
    })}`;
}

/** What simulated users and judges spent, which is in no other figure. */
function environmentTable({ environmentUse }: Report): Markup | null {
  if (environmentUse === undefined) return null;
  const { stages, usd } = environmentUse;
  const { episodes, unknown } = sumOfStages(stages);
  const sentences = [
    'Each try of an episode that failed counts, too. The figure above is without these tokens.',
    unknown === 0
      ? 'Every episode said what it spent.'
      : `${count(unknown)} of ${plural(episodes, 'episode')} did not say what they spent, so the sum lacks that.`,
    usd === null
      ? 'agent.yaml has no prices for them, so there is no cost in dollars.'
      : `By the prices of agent.yaml that is $${usd.toFixed(2)}.`,
  ];
  return markup`<h3 id="environment-use">Simulated users and judges</h3>
    <p>${sentences.join(' ')}</p>
    ${dataTable({
      head: ['Stage', 'Episodes', 'Did not say', 'Tokens in', 'Tokens out'],
      rows: Object.entries(stages).map(([stage, use]) => [
        stage,
        ...[use.episodes, use.unknown, use.promptTokens, use.completionTokens].map(count),
      ]),
    })}`;
}

/** Every artifact with its hash, and the adapters with theirs. */
export function artifactsSection({ report }: ReportDocument): Markup {
  const adapters = [...report.sharpened.flatMap((s) => s.adapter ?? []), ...(report.mixed ? [report.mixed] : [])];
  return markup`<h2 id="artifacts">Artifacts</h2>
    <p>
      Everything above was made from these files. Their names carry the start of their SHA-256; the whole hash is in
      <a href="report.json">report.json</a>. Links work where this page lies in the artifact store.
    </p>
    ${dataTable({
      head: ['What', 'File', 'Size', 'Records'],
      rows: report.artifacts.map(({ role, ref }) => [
        role,
        artifactLink(report.runId, ref),
        bytes(ref.bytes),
        ref.records === undefined ? '–' : count(ref.records),
      ]),
    })}
    ${
      adapters.length > 0 &&
      dataTable({
        head: ['Adapter', 'Directory', 'Rollouts', 'Training'],
        rows: adapters.map((a) => [
          a.name,
          markup`<a href="${hrefFrom(report.runId, a.key)}">${a.key.split('/').at(-1)}</a>
            ${shortHash(a.sha256)}`,
          count(a.rollouts),
          a.reusedFrom === undefined ? duration(a.seconds) : `by ${a.reusedFrom}`,
        ]),
      })
    }`;
}
