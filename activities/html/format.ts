import type { Interval } from '../../contracts/artifacts/evaluation';
import { pointsText } from '../../contracts/share-text';

/** Thin space that keeps a number and its unit on one line. */
const THIN = '\u202f';

const MINUS = '\u2212';

/** `34.1 %`. */
export const percent = (share: number, digits = 1): string =>
  `${(share * 100).toFixed(digits).replace('-', MINUS)}${THIN}%`;

/** `31.0 – 37.2 %`. */
export const percentRange = ({ low, high }: Pick<Interval, 'low' | 'high'>): string =>
  `${(low * 100).toFixed(1)} – ${(high * 100).toFixed(1)}${THIN}%`;

const signed = (value: number, digits = 1): string =>
  `${value < 0 && Number(value.toFixed(digits)) !== 0 ? MINUS : '+'}${Math.abs(value).toFixed(digits)}`;

/** A difference of shares in percentage points: `+46.1`. */
export const points = (difference: number): string => signed(difference * 100);

/**
 * A difference of shares with its unit, for sentences outside the page: `+46.1 points`. Unlike `points`, it keeps the
 * minus sign of a difference that rounds to zero.
 */
export const pointsWithUnit = (difference: number): string =>
  `${difference < 0 ? MINUS : '+'}${pointsText(Math.abs(difference))}`;

/** `+41.0 to +51.2`. */
export const pointsRange = ({ low, high }: Pick<Interval, 'low' | 'high'>): string =>
  `${points(low)} to ${points(high)}`;

/** `+41.0 to +51.2 points`; both ends are formatted by `pointsWithUnit`. */
export const pointsRangeWithUnit = ({ low, high }: Pick<Interval, 'low' | 'high'>): string =>
  `${pointsWithUnit(low).replace(' points', '')} to ${pointsWithUnit(high)}`;

/** `0.25`, with a real minus sign. */
export const decimal = (value: number, digits = 2): string => value.toFixed(digits).replace('-', MINUS);

/** `1,234`. */
export const count = (value: number): string => Math.round(value).toLocaleString('en-US');

/** `8.4 s`, `3 min 05 s`, `4 min`, `2 h 10 min`. */
export function duration(seconds: number): string {
  if (seconds === 0) return `0${THIN}s`;
  if (seconds < 60) return `${seconds < 10 ? seconds.toFixed(1) : Math.round(seconds)}${THIN}s`;
  const whole = Math.round(seconds);
  const rest = whole % 60 === 0 ? '' : ` ${String(whole % 60).padStart(2, '0')}${THIN}s`;
  if (whole < 3600) return `${Math.floor(whole / 60)}${THIN}min${rest}`;
  return `${Math.floor(whole / 3600)}${THIN}h ${String(Math.round((whole % 3600) / 60)).padStart(2, '0')}${THIN}min`;
}

/** `950`, `12.3k`, `4.5M`. */
export function compact(value: number): string {
  if (value < 1000) return String(Math.round(value));
  if (value < 1e6) return `${(value / 1000).toFixed(value < 1e5 ? 1 : 0)}k`;
  return `${(value / 1e6).toFixed(value < 1e8 ? 1 : 0)}M`;
}

/** `812 B`, `1.2 kB`, `3.4 MB`. */
export function bytes(value: number): string {
  if (value < 1000) return `${value}${THIN}B`;
  if (value < 1e6) return `${(value / 1000).toFixed(1)}${THIN}kB`;
  return `${(value / 1e6).toFixed(1)}${THIN}MB`;
}

/** Text in which every number and its percent sign stay on one line. */
export const typeset = (text: string): string => text.replace(/(\d) %/g, `$1${THIN}%`);

/** `a, b and c`; `none` for an empty list. */
export function sentenceList(items: readonly string[]): string {
  if (items.length === 0) return 'none';
  return items.length === 1 ? (items[0] as string) : `${items.slice(0, -1).join(', ')} and ${items.at(-1)}`;
}

/** `1 task`, `2 tasks`. */
export const plural = (value: number, one: string, many = `${one}s`): string =>
  `${count(value)} ${value === 1 ? one : many}`;
