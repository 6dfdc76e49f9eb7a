import { markup, type Markup } from '../html/markup';
import { startOf } from '../../contracts/clean-text';

/**
 * Most charts are drawn twice, for wide and for narrow pages, and the style sheet shows one of the two. So text keeps
 * its size; a scaled drawing would be unreadable on a phone. Colours are CSS variables of the page, so that one drawing
 * suits light mode, dark mode and print.
 */
export type Layout = 'wide' | 'narrow';

/** Units (CSS pixels at full size) of each layout's drawing. */
export const WIDTH: Record<Layout, number> = { wide: 860, narrow: 350 };

/** Font size of chart text, in the units of `WIDTH`. */
export const FONT = 13;

/** A linear map from data to drawing units. */
interface Scale {
  (value: number): number;
  domain: readonly [number, number];
}

/** Linear scale; a domain of no length maps to the middle of the range. */
export function linear(domain: readonly [number, number], range: readonly [number, number]): Scale {
  const [from, to] = domain;
  const [start, end] = range;
  const scale = (value: number) =>
    to === from ? (start + end) / 2 : start + ((value - from) / (to - from)) * (end - start);
  return Object.assign(scale, { domain });
}

/** Round numbers (1, 2 or 5 times a power of ten apart) inside [low, high], about `wanted` of them. */
export function ticks(low: number, high: number, wanted: number): number[] {
  if (!(high > low)) return [low];
  const rough = (high - low) / Math.max(1, wanted);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = ([1, 2, 5, 10].find((m) => m * power >= rough * 0.999) as number) * power;
  const first = Math.ceil(low / step - 1e-9);
  const last = Math.floor(high / step + 1e-9);
  return Array.from({ length: last - first + 1 }, (_, i) => Number(((first + i) * step).toPrecision(12)));
}

/** Smallest round upper end at or above the value, for an axis that starts at zero. */
export function roundUp(value: number, wanted = 4): number {
  if (!(value > 0)) return 1;
  const step = ticks(0, value, wanted)[1] ?? value;
  return Number((Math.ceil(value / step - 1e-9) * step).toPrecision(12));
}

/**
 * Estimated width of text, in the units of `WIDTH`. The server cannot measure fonts, so the estimate is generous for
 * the page's sans-serif fonts.
 */
export function textWidth(text: string): number {
  const widthOf = (c: string) => (/[iljtfr.,:;|!' ()[\]-]/.test(c) ? 0.38 : /[A-Zmw%—M]/.test(c) ? 0.8 : 0.6);
  return [...text].reduce((sum, c) => sum + widthOf(c), 0) * FONT;
}

/**
 * Text broken at spaces into lines of at most `width` units and at most `lines` lines. The last line ends with … if
 * text is left over.
 */
export function wrap(text: string, width: number, lines: number): string[] {
  const result: string[] = [];
  let line = '';
  for (const word of text.split(/\s+/)) {
    const longer = line ? `${line} ${word}` : word;
    if (line && textWidth(longer) > width) {
      result.push(line);
      line = word;
    } else line = longer;
  }
  result.push(line);
  const kept = result.slice(0, lines);
  if (result.length > lines) kept[lines - 1] = `${kept[lines - 1]} …`;
  return kept.map((l) => shorten(l, width));
}

/** The text, cut with … if it is wider than `width` units. */
export function shorten(text: string, width: number): string {
  if (textWidth(text) <= width) return text;
  let start = text;
  while (start !== '' && textWidth(`${start}…`) > width) start = startOf(text, start.length - 1);
  return `${start.trimEnd()}…`;
}

/** How text is set. */
interface TextStyle {
  anchor?: 'start' | 'middle' | 'end';
  /** Space-separated classes of the style sheet: `muted`, `strong`, `small`. */
  look?: string;
}

/** Text with its baseline at (x, y). */
export const label = (x: number, y: number, content: string, { anchor = 'start', look = '' }: TextStyle = {}): Markup =>
  markup`<text x="${x}" y="${y}" text-anchor="${anchor}" class="${look}">${content}</text>`;

/** Several lines of text, the first baseline at y. */
export const labelLines = (x: number, y: number, lines: readonly string[], style: TextStyle = {}): Markup[] =>
  lines.map((line, i) => label(x, y + i * (FONT + 3), line, style));

/** A straight line; `look` are classes of the style sheet. */
export const line = (x1: number, y1: number, x2: number, y2: number, look: string): Markup =>
  markup`<line x1="${x1}" y1="${y1}" x2="${x2}" y2="${y2}" class="${look}" />`;

/** A shaded rectangle: the region where values should be. */
export const region = (x: number, y: number, width: number, height: number): Markup =>
  markup`<rect x="${x}" y="${y}" width="${width}" height="${height}" class="region" />`;

/** Vertical grid lines with tick labels below `bottom`, and the axis title under them. */
export function xAxis(
  scale: Scale,
  values: readonly number[],
  top: number,
  bottom: number,
  format: (v: number) => string,
  title: string,
): Markup[] {
  const [from, to] = scale.domain.map(scale) as [number, number];
  return [
    ...values.map((v) => line(scale(v), top, scale(v), bottom, 'grid')),
    ...values.map((v) => label(scale(v), bottom + 18, format(v), { anchor: 'middle', look: 'muted' })),
    label((from + to) / 2, bottom + 38, title, { anchor: 'middle' }),
  ];
}

/** Horizontal grid lines with tick labels left of `left`, and the axis title above the top one. */
export function yAxis(
  scale: Scale,
  values: readonly number[],
  left: number,
  right: number,
  format: (v: number) => string,
  title: string,
): Markup[] {
  const top = Math.min(...scale.domain.map(scale));
  return [
    ...values.map((v) => line(left, scale(v), right, scale(v), 'grid')),
    ...values.map((v) => label(left - 8, scale(v) + 4, format(v), { anchor: 'end', look: 'muted' })),
    label(0, top - 12, title),
  ];
}

/** The `d` of a path through points of the drawing. */
export const pathThrough = (points: readonly { x: number; y: number }[]): string =>
  points.map(({ x, y }, i) => `${i === 0 ? 'M' : 'L'}${x.toFixed(1)} ${y.toFixed(1)}`).join('');

/** An SVG element with its description for those who cannot see it; sizes are in the units of `WIDTH`. */
export function drawing(width: number, height: number, description: string, content: readonly Markup[]): Markup {
  const size = markup`viewBox="0 0 ${width} ${height}" width="${width}" height="${height}"`;
  return markup`<svg ${size} role="img" aria-label="${description}">
    ${content}
  </svg>`;
}

/** The drawing in both layouts; the style sheet shows the one that fits. */
export const bothLayouts = (draw: (layout: Layout) => Markup): Markup =>
  markup`<div class="only-wide">${draw('wide')}</div>
    <div class="only-narrow">${draw('narrow')}</div>`;

/** Classes of the series colours, in order; after eight they repeat with another dash. */
export const seriesLook = (index: number): string =>
  `s${(index % 8) + 1} d${(Math.floor(index / 8) + (index % 4)) % 4}`;
