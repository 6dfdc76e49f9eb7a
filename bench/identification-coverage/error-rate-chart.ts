import { count, decimal } from '../../activities/html/format';
import { drawing, FONT, label, line, linear, seriesLook, WIDTH, xAxis, yAxis } from '../../activities/charts/svg';
import { standaloneSvg } from '../../activities/charts/standalone-svg';
import { markup } from '../../activities/html/markup';

/** Rates of one sample size. */
export interface ErrorRates {
  trajectories: number;
  falseKeeps: number;
  falseKeepsByEstimatesAlone: number;
  falseDrops: number;
  falseDropsByEstimatesAlone: number;
  undecided: number;
}

const SERIES = [
  ['falseKeeps', 'false keeps'],
  ['falseKeepsByEstimatesAlone', 'false keeps by estimates alone'],
  ['falseDrops', 'false drops (rejected)'],
  ['falseDropsByEstimatesAlone', 'false drops by estimates alone'],
  ['undecided', 'not enough data'],
] as const;

/** An SVG file: error rates against the number of trajectories, on a logarithmic axis. */
export function errorRateChart(sizes: readonly ErrorRates[]): string {
  const width = WIDTH.wide;
  const height = 420;
  const area = { left: 48, right: width - 16, top: 34, bottom: height - 140 };
  const at = sizes.map(({ trajectories }) => Math.log2(trajectories));
  const x = linear([Math.min(...at), Math.max(...at)], [area.left + 8, area.right - 8]);
  const highest = Math.max(0.1, ...sizes.flatMap((size) => SERIES.map(([key]) => size[key])));
  const top = Math.ceil(highest * 10) / 10;
  const y = linear([0, top], [area.bottom, area.top]);
  const text = sizes
    .map(
      (s) =>
        `${s.trajectories} trajectories: ${SERIES.map(([key, name]) => `${name} ${decimal(s[key], 3)}`).join(', ')}`,
    )
    .join('; ');
  return standaloneSvg(
    drawing(width, height, `Error rates of verdicts against sample size. ${text}.`, [
      ...xAxis(x, at, area.top, area.bottom, (v) => count(2 ** v), 'trajectories, half of them failures'),
      ...yAxis(
        y,
        Array.from({ length: Math.round(top * 10) + 1 }, (_, i) => i / 10),
        area.left,
        area.right,
        (v) => decimal(v, 1),
        'share of identifications',
      ),
      ...SERIES.map(([key], s) => {
        const path = sizes
          .map((size, i) => `${i === 0 ? 'M' : 'L'}${x(at[i]!).toFixed(1)} ${y(size[key]).toFixed(1)}`)
          .join('');
        return markup`<path d="${path}" class="curve ${seriesLook(s)}" />`;
      }),
      ...SERIES.flatMap(([, name], s) => {
        const [left, baseline] = [area.left + (s % 2) * 380, area.bottom + 66 + Math.floor(s / 2) * (FONT + 9)];
        return [
          line(left, baseline - 4, left + 34, baseline - 4, `curve ${seriesLook(s)}`),
          label(left + 44, baseline, name),
        ];
      }),
    ]),
  );
}
