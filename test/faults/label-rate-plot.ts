import type { FaultStats } from './label-fault-endpoint';

const WIDTH = 720;
const HEIGHT = 300;
const LEFT = 56;
const BOTTOM = 40;
const TOP = 44;

/** Requests a second at a calm and at a faulty endpoint, and the good answers of the latter, as an SVG document. */
export function ratePlot(calm: FaultStats, faulty: FaultStats): string {
  const seconds = Math.max(calm.perSecond.length, faulty.perSecond.length);
  const most = Math.max(1, ...[...calm.perSecond, ...faulty.perSecond].map(({ requests }) => requests));
  const x = (second: number) => LEFT + ((WIDTH - LEFT - 16) * second) / Math.max(1, seconds);
  const y = (rate: number) => HEIGHT - BOTTOM - ((HEIGHT - BOTTOM - TOP) * rate) / most;
  const line = (values: readonly number[], colour: string, dash = '') =>
    `<polyline fill="none" stroke="${colour}" stroke-width="2"${dash && ` stroke-dasharray="${dash}"`} ` +
    `points="${values.map((value, i) => `${x(i + 0.5).toFixed(1)},${y(value).toFixed(1)}`).join(' ')}"/>`;
  const ticks = [0, 0.25, 0.5, 0.75, 1].map((share) => Math.round(share * most));
  const legend = [
    ['calm endpoint: requests', '#888'],
    ['faulty endpoint: requests', '#b3261e'],
    ['faulty endpoint: good answers', '#1b5e9e'],
  ] as const;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" font-family="sans-serif" font-size="12" role="img" aria-label="Requests a second at a calm and at a faulty endpoint">
<rect width="${WIDTH}" height="${HEIGHT}" fill="white"/>
${legend.map(([text, colour], i) => `<rect x="${LEFT + i * 215}" y="14" width="14" height="4" fill="${colour}"/><text x="${LEFT + i * 215 + 20}" ` + `y="20">${text}</text>`).join('\n')}
${ticks.map((tick) => `<line x1="${LEFT}" x2="${WIDTH - 16}" y1="${y(tick)}" y2="${y(tick)}" stroke="#ddd"/><text x="${LEFT - 8}" ` + `y="${y(tick) + 4}" text-anchor="end">${tick}</text>`).join('\n')}
${line(
  calm.perSecond.map(({ requests }) => requests),
  '#888',
)}
${line(
  faulty.perSecond.map(({ requests }) => requests),
  '#b3261e',
)}
${line(
  faulty.perSecond.map(({ good }) => good),
  '#1b5e9e',
  '5 3',
)}
<text x="${WIDTH / 2}" y="${HEIGHT - 10}" text-anchor="middle">seconds (${seconds} in all); requests a second on the left</text>
</svg>
`;
}
