import { posix } from 'node:path';
import type { ArtifactRef } from '../../contracts/artifacts/artifact-ref';
import { layout } from '../../store';
import { markup, type Markup } from '../html/markup';

/** Href of a store key as seen from a run's report directory; works from disk because both lie in the same store. */
export function hrefFrom(runId: string, key: string): string {
  const relative = posix.relative(layout.report(runId), key);
  return relative
    .split('/')
    .map((part) => (part === '..' ? part : encodeURIComponent(part)))
    .join('/');
}

/** An artifact as a link with the start of its hash; the whole hash is its tooltip. */
export function artifactLink(
  runId: string,
  ref: Pick<ArtifactRef, 'key' | 'sha256'>,
  label = posix.basename(ref.key),
): Markup {
  return markup`<a href="${hrefFrom(runId, ref.key)}">${label}</a> <code class="hash" title="sha256 ${ref.sha256}">${ref.sha256.slice(0, 12)}</code>`;
}
