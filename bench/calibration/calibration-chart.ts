import { decimal } from '../../activities/html/format';
import { drawing, FONT, label, line, linear, seriesLook, WIDTH, xAxis, yAxis } from '../../activities/charts/svg';
import { standaloneSvg } from '../../activities/charts/standalone-svg';
import { markup, type Markup } from '../../activities/html/markup';

/** Figures at one true success rate, over all profiles that have it. */
export interface SuccessPoint {
  success: number;
  /** Mean rollouts of a calibration. */
  rollouts: number;
  errorFixed: number;
  errorSequential: number;
}

const SERIES = [
  ['share', 'rollouts of the sequential design, as a share of the fixed one'],
  ['errorFixed', 'wrong verdicts, fixed design'],
  ['errorSequential', 'wrong verdicts, sequential design'],
] as const;

/** An SVG file: rollouts and wrong verdicts of both designs against the true success rate. */
export function calibrationChart(points: readonly SuccessPoint[], planned: number): string {
  const width = WIDTH.wide;
  const height = 420;
  const area = { left: 48, right: width - 16, top: 34, bottom: height - 130 };
  const x = linear([0, 1], [area.left + 8, area.right - 8]);
  const y = linear([0, 1], [area.bottom, area.top]);
  const values = points.map(({ success, rollouts, errorFixed, errorSequential }) => ({
    success,
    share: rollouts / planned,
    errorFixed,
    errorSequential,
  }));
  const curve = (key: (typeof SERIES)[number][0], series: number): Markup => {
    const path = values
      .map((point, i) => `${i === 0 ? 'M' : 'L'}${x(point.success).toFixed(1)} ${y(point[key]).toFixed(1)}`)
      .join('');
    return markup`<path d="${path}" class="curve ${seriesLook(series)}" />`;
  };
  const tenths = Array.from({ length: 11 }, (_, i) => i / 10);
  return standaloneSvg(
    drawing(
      width,
      height,
      'Rollouts and wrong verdicts of calibration against the true success rate, ' +
        `of ${planned} rollouts in the fixed design.`,
      [
        ...xAxis(x, tenths, area.top, area.bottom, (v) => decimal(v, 1), 'true success rate of the base model'),
        ...yAxis(y, tenths, area.left, area.right, (v) => decimal(v, 1), 'share'),
        ...SERIES.map(([key], series) => curve(key, series)),
        ...SERIES.flatMap(([, name], series) => {
          const baseline = area.bottom + 62 + series * (FONT + 9);
          return [
            line(area.left, baseline - 4, area.left + 34, baseline - 4, `curve ${seriesLook(series)}`),
            label(area.left + 44, baseline, name),
          ];
        }),
      ],
    ),
  );
}
