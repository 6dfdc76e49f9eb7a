import { drawing, label, line, linear, seriesLook, WIDTH, xAxis, yAxis } from '../../activities/charts/svg';
import { standaloneSvg } from '../../activities/charts/standalone-svg';
import { decimal } from '../../activities/html/format';
import { markup } from '../../activities/html/markup';
import { POWER } from '../../contracts/statistics/minimum-detectable-gain';

/** Share of candidates with a true gain of so many points that are promoted. */
export interface PowerPoint {
  points: number;
  share: number;
}

/** An SVG file: how often a candidate is promoted, against its true gain over the active version. */
export function powerChart(
  points: readonly PowerPoint[],
  { tasks, trials }: { tasks: number; trials: number },
): string {
  const width = WIDTH.wide;
  const height = 360;
  const area = { left: 48, right: width - 16, top: 34, bottom: height - 62 };
  const most = Math.max(...points.map((point) => point.points));
  const x = linear([0, most], [area.left + 8, area.right - 8]);
  const y = linear([0, 1], [area.bottom, area.top]);
  const path = points
    .map((point, i) => `${i === 0 ? 'M' : 'L'}${x(point.points).toFixed(1)} ${y(point.share).toFixed(1)}`)
    .join('');
  const fifths = Array.from({ length: 6 }, (_, i) => i / 5);
  const whole = Array.from({ length: most + 1 }, (_, i) => i);
  const title = `Share of candidates promoted, ${tasks} held-out tasks with ${trials} trials each.`;
  return standaloneSvg(
    drawing(width, height, title, [
      ...xAxis(x, whole, area.top, area.bottom, (v) => decimal(v, 0), 'true gain over the active version, in points'),
      ...yAxis(y, fifths, area.left, area.right, (v) => decimal(v, 1), 'promoted'),
      line(area.left, y(POWER), area.right, y(POWER), 'zero'),
      markup`<path d="${path}" class="curve ${seriesLook(0)}" />`,
      ...points.map((point) =>
        label(Math.min(x(point.points) - 6, area.right - 30), y(point.share) - 8, decimal(point.share, 2)),
      ),
    ]),
  );
}
