import type { Markup } from '../html/markup';
import { STYLE } from '../html/style';

/** A drawing as an SVG file of its own: with its name space, the report's style and a background. */
export function standaloneSvg({ text }: Markup): string {
  return (
    text
      .trim()
      .replace(
        /^<svg ([^>]*)>/,
        `<svg xmlns="http://www.w3.org/2000/svg" $1><style>${STYLE.text}\nsvg{background:var(--paper)}</style>`,
      ) + '\n'
  );
}
