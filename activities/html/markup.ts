import { cleanHtml } from '../../contracts/clean-text';

/** Text that is HTML or SVG. Only `markup` and `trusted` create it; all other text is escaped. */
export class Markup {
  constructor(readonly text: string) {}
}

type Value = string | number | Markup | readonly Markup[] | null | undefined | false;

/**
 * Template tag for HTML and SVG. Every value is escaped unless it is already Markup. Lists of Markup are joined; null,
 * undefined and false give nothing. Attribute values must be written in quotes.
 */
export function markup(strings: TemplateStringsArray, ...values: Value[]): Markup {
  return new Markup(strings.reduce((text, part, i) => text + render(values[i - 1]) + part));
}

function render(value: Value): string {
  if (value === null || value === undefined || value === false) return '';
  if (value instanceof Markup) return value.text;
  if (typeof value === 'object') return value.map((v) => v.text).join('');
  return cleanHtml(typeof value === 'number' ? String(Math.round(value * 1000) / 1000) : value);
}

/** Takes text of this project, never of a run, as markup without escaping it: a style sheet. */
export const trusted = (text: string): Markup => new Markup(text);
