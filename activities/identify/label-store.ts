import { z } from 'zod';
import { type Candidate, type LabelRecord, labelRecordSchema } from '../../contracts/artifacts/identification';
import { contentKey } from '../../llm';
import { layout, type ArtifactStore } from '../../store';
import { callRecordSchema } from '../analyst/recorded-calls';
import { LABEL_PROMPT_VERSION } from './prompts/label';

/** A line of a label segment: the label and what it cost, in one line, so that no crash can come between them. */
const storedLabelSchema = z.object({ label: labelRecordSchema, call: callRecordSchema });
export type StoredLabel = z.infer<typeof storedLabelSchema>;

/** One chunk of the fan-out: trajectories `from` (inclusive) to `to` (exclusive), each with all candidates. */
const chunkSchema = z.strictObject({
  from: z.int().nonnegative(),
  to: z.int().positive(),
  /** Hash of the chunk's label keys. */
  hash: z.string(),
  /**
   * Where the chunk's trajectories lie in the trajectories artifact: byte offsets, the end exclusive, and the hash of
   * these bytes.
   */
  bytes: z.strictObject({ start: z.int().nonnegative(), end: z.int().positive(), sha256: z.string() }),
  /** Keys of segments of other runs that hold labels of this chunk. */
  sources: z.array(z.string()),
});
export type Chunk = z.infer<typeof chunkSchema>;

/** The plan artifact of `planLabels`: one labelling run. */
export const labelPlanSchema = z.strictObject({
  promptVersion: z.string(),
  model: z.string(),
  run: z.int().nonnegative(),
  chunks: z.array(chunkSchema),
});
export type LabelPlanDocument = z.infer<typeof labelPlanSchema>;

/**
 * Content key of a label: a label is asked once per key. `run` counts the independent labelling runs from 0: the same
 * question in another run is another label.
 */
export function labelKey(trajectoryId: string, capability: Candidate, model: string, run: number): string {
  return contentKey(
    'label',
    LABEL_PROMPT_VERSION,
    model,
    trajectoryId,
    capability.id,
    capability.name,
    capability.description,
    String(run),
  );
}

/** Where the labels of one prompt version and model lie, shared by all runs of an agent. */
export function labelDirectory(agent: string, model: string): string {
  return `${layout.labelsCache(agent)}/${contentKey(LABEL_PROMPT_VERSION, model).slice(0, 12)}`;
}

/**
 * Segment in which a run writes a chunk's labels. The run is part of the name because a segment has one writer; what
 * another run wrote about the same chunk is found by the hash in front.
 */
export function labelSegment(agent: string, model: string, chunk: Chunk, runId: string): string {
  return `${labelDirectory(agent, model)}/${chunk.hash.slice(0, 16)}.${runId}.jsonl`;
}

/** Labels of a segment, in the order in which they were written. */
export async function readLabels(store: ArtifactStore, segment: string): Promise<StoredLabel[]> {
  return (await store.segment(segment).read()).map((line) => storedLabelSchema.parse(line));
}

/**
 * Labels of a chunk that are there already: this run's own, and those of other runs (from the plan's sources, and from
 * segments of the same chunk that were written since). `wanted` are the chunk's keys; of several labels with one key
 * the first counts, own ones first. A record without a label counts only while there is none with one, and only in the
 * run that wrote it: the next run asks again. `refusals` counts such records by key.
 */
export async function knownLabels(
  store: ArtifactStore,
  agent: string,
  model: string,
  chunk: Chunk,
  runId: string,
  wanted: ReadonlySet<string>,
) {
  const ownSegment = labelSegment(agent, model, chunk, runId);
  const own = await readLabels(store, ownSegment);
  const directory = labelDirectory(agent, model);
  const prefix = `${chunk.hash.slice(0, 16)}.`;
  const twins = (await store.list(directory))
    .filter((name) => name.startsWith(prefix))
    .map((name) => `${directory}/${name}`);
  const labels = new Map<string, LabelRecord>();
  const keep = ({ label }: StoredLabel) => {
    if (wanted.has(label.key) && (labels.get(label.key)?.label ?? null) === null) labels.set(label.key, label);
  };
  const refusals = new Map<string, number>();
  const countRefusal = ({ label }: StoredLabel) => {
    if (label.label === null) refusals.set(label.key, (refusals.get(label.key) ?? 0) + 1);
  };
  own.forEach(keep);
  own.forEach(countRefusal);
  for (const source of new Set([...chunk.sources, ...twins])) {
    if (labels.size === wanted.size) break;
    if (source === ownSegment) continue;
    const others = await readLabels(store, source);
    others.filter(({ label }) => label.label !== null).forEach(keep);
    others.forEach(countRefusal);
  }
  return { labels, own, refusals };
}

/** Whether any run has left labels for this prompt version and model. */
export async function hasLabels(store: ArtifactStore, agent: string, model: string): Promise<boolean> {
  return (await store.list(labelDirectory(agent, model))).length > 0;
}

/** For each of the wanted keys that an earlier run labelled, the first segment that holds the label. */
export async function labelSources(
  store: ArtifactStore,
  agent: string,
  model: string,
  wanted: ReadonlySet<string>,
): Promise<Map<string, string>> {
  const directory = labelDirectory(agent, model);
  const found = new Map<string, string>();
  for (const name of await store.list(directory)) {
    if (found.size === wanted.size) break;
    const segment = `${directory}/${name}`;
    for (const { label } of await readLabels(store, segment)) {
      if (label.label !== null && wanted.has(label.key) && !found.has(label.key)) found.set(label.key, segment);
    }
  }
  return found;
}
