import { markup, type Markup } from './markup';
import { STYLE } from './style';

/**
 * An HTML document without scripts and without anything from elsewhere; the content security policy forbids both, so
 * that text of the analyst or the agent could do nothing even if it got past the escaping.
 */
export function htmlDocument(title: string, body: Markup): string {
  return markup`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'">
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
