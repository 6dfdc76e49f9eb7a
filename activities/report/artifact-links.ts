import { posix } from 'node:path';
import type { ArtifactRef } from '../../contracts/artifacts/artifact-ref';
import { layout } from '../../store';
import { markup, type Markup } from '../html/markup';

/** Link from a run's report page to a store key. It works from disk, because both are in the same store. */
export function hrefFrom(runId: string, key: string): string {
  const relative = posix.relative(layout.report(runId), key);
  return relative
    .split('/')
    .map((part) => (part === '..' ? part : encodeURIComponent(part)))
    .join('/');
}

/** The first 12 digits of a SHA-256, with the whole hash as a tooltip. */
export const shortHash = (sha256: string): Markup =>
  markup`<code class="hash" title="sha256 ${sha256}">${sha256.slice(0, 12)}</code>`;

/** A link to an artifact, followed by the start of its hash. */
export function artifactLink(
  runId: string,
  ref: Pick<ArtifactRef, 'key' | 'sha256'>,
  label = posix.basename(ref.key),
): Markup {
  return markup`<a href="${hrefFrom(runId, ref.key)}">${label}</a> ${shortHash(ref.sha256)}`;
}
