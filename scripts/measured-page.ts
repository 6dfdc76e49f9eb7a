/** Reads the table of docs/measured.md, and writes rows of it again from the result of a bench. Pure functions. */

import { mean } from '../activities/statistics/mean';

/** Rows that a bench fills. Names in braces are members of its result; see `fill`. */
export interface RowTemplate {
  /** With `each`, names in braces are members of the element; `{key}` is the element's own name in an object. */
  id: string;
  figures: string;
  /** A list or object in the result: a row for each of its elements. */
  each?: string;
}

/** Where and when something was measured. */
export interface Measurement {
  command: string;
  date: string;
  machine: string;
  commit: string;
}

const ROW = /^\| <a id="([^"]+)"><\/a>.*$/gm;

/** Ids of all rows, in their order. */
export const rowIds = (page: string): string[] => [...page.matchAll(ROW)].map(([, id]) => id!);

/**
 * Figures of each row that the templates make from a result, by id.
 * @throws RangeError when the result lacks a member.
 */
export function figuresOf(templates: readonly RowTemplate[], result: unknown): Map<string, string> {
  return new Map(
    templates.flatMap(({ id, figures, each }) =>
      elements(each === undefined ? { all: result } : member(result, each)).map(
        (element) => [fill(id, element), fill(figures, element)] as const,
      ),
    ),
  );
}

/** The page with other figures in the rows that it has; `missing` are ids that it has no row for. */
export function updatedPage(
  page: string,
  figures: ReadonlyMap<string, string>,
  { command, date, machine, commit }: Measurement,
): { page: string; missing: string[] } {
  const ids = rowIds(page);
  return {
    page: page.replaceAll(ROW, (row, id: string) =>
      figures.has(id)
        ? `| ${[`<a id="${id}"></a>${id}`, figures.get(id), command, date, machine, commit].join(' | ')} |`
        : row,
    ),
    missing: [...figures.keys()].filter((id) => !ids.includes(id)),
  };
}

const elements = (of: unknown): unknown[] =>
  Object.entries(of as object).map(([key, value]) =>
    Array.isArray(of) || typeof value !== 'object' ? (value as unknown) : { key, ...(value as object) },
  );

function member(of: unknown, path: string): unknown {
  const [list, rest] = path.split('[].');
  if (list !== undefined && rest !== undefined) {
    const values = elements(member(of, list)).map((element) => member(element, rest));
    return mean(values.filter((value) => value !== null).map((value) => asNumber(value, path)));
  }
  const value = path
    .split('.')
    .reduce<unknown>((at, name) => (at as Record<string, unknown> | null | undefined)?.[name], of);
  if (value === undefined) throw new RangeError(`The result of the bench has no ${path}.`);
  return value;
}

/**
 * A template with its places filled: `{name}` as it is, with commas in thousands; `{name%}` a share in percent with one
 * digit, `{name%2}` with two; `{name+}` a difference of shares in points, with its interval where it has one;
 * `{list[].name}` the mean over a list. Where a value is null stands a dash.
 */
function fill(template: string, result: unknown): string {
  return template.replace(/\{([\w.[\] -]+)(%\d?|\+)?\}/g, (_, path: string, form?: string) => {
    const value = member(result, path);
    if (value === null) return '–';
    if (form?.startsWith('%')) return `${(asNumber(value, path) * 100).toFixed(Number(form.slice(1) || '1'))} %`;
    if (form === '+') return points(value, path);
    return typeof value === 'string' ? value : asNumber(value, path).toLocaleString('en', { maximumFractionDigits: 4 });
  });
}

function points(value: unknown, path: string): string {
  const signed = (share: unknown) => {
    const text = (asNumber(share, path) * 100).toFixed(1);
    return text.startsWith('-') ? text : `+${text}`;
  };
  if (typeof value === 'number') return signed(value);
  const { estimate, low, high } = value as Record<string, unknown>;
  return `${signed(estimate)} [${signed(low)}, ${signed(high)}]`;
}

function asNumber(value: unknown, path: string): number {
  const number = (value as { estimate?: unknown }).estimate ?? value;
  if (typeof number !== 'number') throw new RangeError(`${path} in the result of the bench is no number.`);
  return number;
}
