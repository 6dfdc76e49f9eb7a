import type { LabelRecord } from '../../../contracts/artifacts/identification';
import type { RunContext } from '../../../contracts/messages/run-context';
import { layout, type ArtifactStore } from '../../../store';
import type { LabelIndex } from './label-index';
import type { LabelPlace } from './label-plan';

/** What `writeFoundLabels` needs. */
export interface FoundLabelsDeps {
  store: ArtifactStore;
  context: RunContext;
  labellingRun: number;
  index: LabelIndex;
  /** Called before the index is built. */
  onBuild: () => void;
  /** Keys of the needed labels of a trajectory. */
  keysOf: (trajectoryId: string) => readonly string[];
}

/**
 * Collects labels that earlier improvement runs have paid for into one file of this run, chunk by chunk. Each chunk
 * then reads its labels at once, and so does the tally. Returns the place of each chunk's labels; null if there are
 * none.
 * @param chunks trajectory ids of each chunk.
 */
export async function writeFoundLabels(
  { store, context, labellingRun, index, onBuild, keysOf }: FoundLabelsDeps,
  chunks: readonly (readonly string[])[],
): Promise<(LabelPlace | null)[]> {
  const bytes: { start: number; end: number }[] = [];
  async function* parts() {
    let start = 0;
    for (const ids of chunks) {
      const lines = await foundLines(ids);
      const end = start + lines.length;
      bytes.push({ start, end });
      if (end > start) yield lines;
      start = end;
    }
  }
  async function foundLines(ids: readonly string[]): Promise<Buffer> {
    const found = await index.find(ids, onBuild);
    const labels = ids.flatMap((id) => {
      const wanted = new Set(found.has(id) ? keysOf(id) : []);
      return (found.get(id) ?? []).filter(({ key }) => wanted.has(key));
    });
    return Buffer.from(labels.map((label: LabelRecord) => `${JSON.stringify({ label })}\n`).join(''));
  }
  const rest = parts();
  const first = await rest.next();
  if (first.done) return bytes.map(() => null);
  async function* all() {
    yield first.value as Buffer;
    yield* rest;
  }
  const { key } = await store.putParts(layout.labels(context.runId), `found-${labellingRun}.jsonl`, all());
  return bytes.map(({ start, end }) => (start === end ? null : { segment: key, start, end }));
}
