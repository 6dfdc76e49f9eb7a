import { markup, type Markup } from './markup';
import { STYLE } from './style';

const POLICY = markup`default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'`;

/**
 * An HTML document without scripts that loads nothing from elsewhere. Its content security policy forbids both. So text
 * of the analyst or the agent could do no harm, even if it were not escaped.
 */
export function htmlDocument(title: string, body: Markup): string {
  return markup`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="${POLICY}">
<meta name="color-scheme" content="light dark">
<title>${title}</title>
<style>${STYLE}</style>
</head>
<body>
${body}
</body>
</html>
`.text;
}
