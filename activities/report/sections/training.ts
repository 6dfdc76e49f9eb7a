import type { ArtifactRef } from '../../../contracts/artifacts/artifact-ref';
import type { EnvironmentAttempt } from '../../../contracts/artifacts/environment-attempt';
import type { Interval } from '../../../contracts/artifacts/evaluation';
import type { Report, SharpenedReport, TrainedReport } from '../../../contracts/artifacts/report';
import { type Curve, curvesLegend, curvesPlot, SMOOTHING } from '../../charts/curves';
import { histogram } from '../../charts/histogram';
import { bothLayouts } from '../../charts/svg';
import { count, decimal, duration, percent, plural, typeset } from '../../html/format';
import { markup, type Markup } from '../../html/markup';
import { mean } from '../../statistics/mean';
import type { FigureSources, ReportDocument } from '../report-document';
import { figure } from '../figure';
import { probesPart } from './probes';
import { artifactLink } from '../artifact-links';

const PASS_AT = ['1', '4', '8', '16'];

const passCell = (passed: Interval | undefined): string =>
  passed ? `${decimal(passed.estimate)} [${decimal(passed.low)}, ${decimal(passed.high)}]` : '–';

/** The training environments with their calibration, attempt by attempt. */
export function environmentsSection({ report, sources }: ReportDocument): Markup | null {
  const attempts = report.sharpened.flatMap((sharpened) =>
    sharpened.attempts.map((attempt) => ({ sharpened, attempt })),
  );
  if (attempts.length === 0) return null;
  const rejected = attempts.filter(({ attempt }) => !attempt.accepted).length;
  const [low, high] = report.settings.calibration.meanReward;
  const panels = report.sharpened.map((sharpened) => attemptPanels(report, sharpened, sources));
  return markup`<h2 id="environments">Training environments</h2>
    <p>
      For each kept capability the analyst is asked for an environment. It runs in the sandbox and is calibrated with rollouts
      of the base model: too easy or too hard teaches nothing, so it is accepted only inside the band, else written
      again with the numbers as feedback.
    </p>
    ${figure(report.runId, {
      id: 'calibration',
      title: 'Calibration of every attempt',
      takeaway:
        'How the mean reward of the base model is spread over tasks. ' +
        `The shaded band (${decimal(low)} to ${decimal(high)}) is where the mean must lie. ` +
        `${plural(attempts.length, 'attempt')}, ` +
        `${rejected} rejected${rejected > 0 ? ' (dashed frame, open bars)' : ''}.`,
      body: markup`<div class="panels">${panels}</div>`,
      data: {
        head: [
          'Attempt',
          'Verdict',
          'Rollouts',
          'Mean reward',
          'Success',
          'Informative groups',
          ...PASS_AT.map((k) => `pass@${k}`),
        ],
        rows: attempts.map(({ sharpened, attempt: { attempt, calibration: c } }) => [
          `${sharpened.capability.name}, ${attempt}`,
          c?.verdict ?? 'invalid',
          c ? `${count(c.rollouts)} of ${count(c.planned)}` : '–',
          c ? decimal(c.meanReward) : '–',
          c ? percent(c.meanSuccess, 0) : '–',
          c ? percent(c.informativeGroups, 0) : '–',
          ...PASS_AT.map((k) => passCell(c?.passAt[k])),
        ]),
      },
      sources: sources.calibrations.map(({ ref }) => ref),
    })}
    ${unfinished(report)}`;
}

/** The attempts of one capability. If there are several, they share a row, so that they are next to each other. */
function attemptPanels(report: Report, sharpened: SharpenedReport, { calibrations }: FigureSources): Markup {
  const panels = sharpened.attempts.map((attempt) => {
    const calibration = calibrations.find(
      (c) => c.capabilityId === sharpened.capability.id && c.attempt === attempt.attempt,
    );
    return attemptPanel(report, sharpened, attempt, calibration?.ref);
  });
  return panels.length === 1 ? markup`${panels}` : markup`<div class="panels together">${panels}</div>`;
}

function attemptPanel(
  { runId, settings }: Report,
  { capability }: SharpenedReport,
  attempt: EnvironmentAttempt,
  ref: ArtifactRef | undefined,
): Markup {
  const { calibration, accepted, validation, source } = attempt;
  const stamp = accepted
    ? markup`<span class="stamp yes">✓ accepted</span>`
    : markup`<span class="stamp no">✗ rejected</span>`;
  const problems = calibration ? calibration.problems : validation.problems;
  const links = markup`${artifactLink(runId, source, 'environment')}${
    ref && markup` · ${artifactLink(runId, ref, 'calibration')}`
  }`;
  const verdict = calibration ? calibration.verdict.replaceAll('-', ' ') : 'invalid, not calibrated';
  return markup`<section class="panel${!accepted && ' rejected'}">
    <h4>${capability.name}</h4>
    <p>Attempt ${attempt.attempt}: ${stamp} · ${verdict}</p>
    ${
      calibration &&
      histogram(
        {
          values: calibration.groupMeans,
          band: settings.calibration.meanReward,
          mean: calibration.meanReward,
          look: accepted ? 'good' : 'bad',
          xTitle: "mean reward of a task's rollouts",
          yTitle: `tasks (${count(calibration.seeds)}, together ${count(calibration.rollouts)} rollouts)`,
        },
        `${capability.name}, attempt ${attempt.attempt}: histogram of mean rewards over ` +
          `${calibration.groupMeans.length} tasks; mean ${decimal(calibration.meanReward)}, ` +
          `${accepted ? 'accepted' : 'rejected'}.`,
      )
    }
    ${
      !accepted &&
      problems.length > 0 &&
      markup`<ul>
        ${problems.map((problem) => markup`<li>${typeset(problem)}</li>`)}
      </ul>`
    }
    <p class="source">${links}</p>
  </section>`;
}

function unfinished({ sharpened }: Report): Markup | null {
  const rest = sharpened.filter((s) => s.status !== 'trained');
  return rest.length === 0
    ? null
    : markup`<p>Without an adapter:</p>
        <ul>
          ${rest.map((s) => markup`<li>${s.capability.name} (${s.status}): ${s.reason}</li>`)}
        </ul>`;
}

/** Learning curves. The mixed adapter has its own plot, because it has more iterations. */
export function trainingSection({ report, sources }: ReportDocument): Markup | null {
  const trained = report.sharpened.flatMap((s) => (s.adapter ? [{ name: s.capability.name, adapter: s.adapter }] : []));
  const { mixed } = report;
  const drawn = trained.filter(({ adapter }) => adapter.curve.length > 0);
  if (drawn.length === 0) return null;
  const named = [...trained, ...(mixed ? [{ name: 'environments mixed', adapter: mixed }] : [])];
  const refs = (adapters: readonly TrainedReport[]) =>
    sources.manifests.filter((m) => adapters.some((a) => a.name === m.adapter)).map((m) => m.ref);
  const smoothing =
    `Lines average over ${2 * SMOOTHING + 1} iterations; ` +
    `faint dots are single iterations of ${report.settings.rolloutsPerIteration} rollouts.`;
  return markup`<h2 id="training">Training</h2>
    <p>One LoRA adapter for each capability, trained with GRPO in its accepted environment.</p>
    ${curvesFigure(
      report.runId,
      'learning-curves',
      'Reward by iteration, one adapter for each capability',
      smoothing,
      drawn,
      refs(drawn.map((d) => d.adapter)),
      0,
    )}
    ${
      mixed &&
      mixed.curve.length > 0 &&
      curvesFigure(
        report.runId,
        'learning-curve-mixed',
        'Reward by iteration, one adapter on all environments mixed',
        `The comparison: as many rollouts as all the adapters together (${count(mixed.rollouts)}).`,
        [{ name: 'environments mixed', adapter: mixed }],
        refs([mixed]),
        drawn.length,
      )
    }
    ${probesPart(report.runId, named, refs(named.map((d) => d.adapter)))}`;
}

function curvesFigure(
  runId: string,
  id: string,
  title: string,
  takeaway: string,
  trained: readonly { name: string; adapter: TrainedReport }[],
  refs: readonly ArtifactRef[],
  firstSeries: number,
): Markup {
  const curves = trained.map(({ name, adapter }): Curve => ({
    name,
    points: adapter.curve.map((p) => ({ x: p.iteration, y: p.reward })),
  }));
  const ends = trained.map(
    ({ name, adapter }) => `${name} from ${decimal(average(adapter, 'first'))} to ${decimal(average(adapter, 'last'))}`,
  );
  const sampledElsewhere = trained.some(({ adapter }) => adapter.curve.some((point) => point.samplerMismatch));
  return figure(runId, {
    id,
    title,
    takeaway,
    body: markup`${curvesLegend(curves, firstSeries)}${bothLayouts((layout) =>
      curvesPlot(
        curves,
        layout,
        `Learning curves of the mean reward, first to last fifth of the iterations: ${ends.join('; ')}.`,
        { firstSeries },
      ),
    )}`,
    data: {
      head: [
        'Adapter',
        'Reward, first fifth',
        'last fifth',
        'Rollouts',
        'Time',
        'Final KL',
        ...(sampledElsewhere ? ['Sampler mismatch, mean', 'most', 'Left out'] : []),
      ],
      rows: trained.map(({ name, adapter }) => [
        name,
        decimal(average(adapter, 'first')),
        decimal(average(adapter, 'last')),
        count(adapter.rollouts),
        duration(adapter.seconds),
        decimal(adapter.curve.at(-1)?.kl ?? 0, 3),
        ...(sampledElsewhere ? mismatch(adapter) : []),
      ]),
    },
    sources: refs,
  });
}

/**
 * The difference between sampler and trainer over the iterations: mean and maximum in nats a token, and the share that
 * was left out.
 */
function mismatch({ curve }: TrainedReport): string[] {
  const points = curve.flatMap(({ samplerMismatch }) => samplerMismatch ?? []);
  if (points.length === 0) return ['–', '–', '–'];
  return [
    decimal(mean(points.map((point) => point.mean)), 5),
    decimal(Math.max(...points.map((point) => point.max)), 3),
    percent(mean(points.map((point) => point.clipped))),
  ];
}

/** Mean reward over the first or last fifth of the iterations, because single iterations are noisy. */
function average({ curve }: TrainedReport, end: 'first' | 'last'): number {
  const size = Math.max(1, Math.floor(curve.length / 5));
  const part = end === 'first' ? curve.slice(0, size) : curve.slice(-size);
  return mean(part.map(({ reward }) => reward));
}
