import type { Markup } from '../html/markup';
import { STYLE } from '../html/style';

/** A drawing as the text of an SVG file: with the SVG name space, the report's style sheet and a background. */
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
