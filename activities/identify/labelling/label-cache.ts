/**
 * The label cache of an agent. All its improvement runs share it, so that no label is paid for twice. Each improvement
 * run writes segments of its own, one for each chunk, and reads those of the others.
 */
import { z } from 'zod';
import { type Candidate, type LabelRecord, labelRecordSchema } from '../../../contracts/artifacts/identification';
import { contentKey } from '../../../llm';
import { layout, readSegment, type ArtifactStore } from '../../../store';
import { callRecordSchema } from '../../analyst/recorded-calls';
import { warnOfDamage } from '../../warn-of-damage';
import { LABEL_PROMPT_VERSION } from '../prompts/label';
import type { Chunk } from './label-plan';

/** A line of a label segment: the label and what it cost, in one line, so that no crash can come between them. */
const storedLabelSchema = z.object({ label: labelRecordSchema, call: callRecordSchema });
export type StoredLabel = z.infer<typeof storedLabelSchema>;

/**
 * Content key of a label; each key is asked once. The labelling runs of an identification are independent of each
 * other: the same question in another labelling run (counted from 0) has another key.
 */
export function labelKey(trajectoryId: string, capability: Candidate, model: string, labellingRun: number): string {
  return contentKey(
    'label',
    LABEL_PROMPT_VERSION,
    model,
    trajectoryId,
    capability.id,
    capability.name,
    capability.description,
    String(labellingRun),
  );
}

/** Directory of the labels of one prompt version and model, for all improvement runs of an agent. */
function labelDirectory(agent: string, model: string): string {
  return `${layout.labelsCache(agent)}/${contentKey(LABEL_PROMPT_VERSION, model).slice(0, 12)}`;
}

/**
 * Segment in which an improvement run writes the labels of a chunk. `runId` is part of the name because a segment has
 * one writer. The name begins with the chunk's hash, by which other improvement runs find it.
 */
export function labelSegment(agent: string, model: string, chunk: Chunk, runId: string): string {
  return `${labelDirectory(agent, model)}/${chunk.hash.slice(0, 16)}.${runId}.jsonl`;
}

/** Labels of a segment, in the order in which they were written. A damaged line is no label, and is asked for again. */
export async function readLabels(store: ArtifactStore, segment: string): Promise<StoredLabel[]> {
  const { values, damaged } = await readSegment(store.segment(segment), storedLabelSchema);
  warnOfDamage(damaged);
  return values;
}

/** What the cache holds of one chunk. */
export interface KnownLabels {
  /** The label that counts, by key. */
  labels: Map<string, LabelRecord>;
  /** All lines of this improvement run's own segment. */
  own: StoredLabel[];
  /** By key: how many calls gave no valid label. */
  refusals: Map<string, number>;
}

/**
 * Labels of a chunk that are in the cache already. They come from the own segment of this improvement run, from the
 * plan's sources, and from segments that other improvement runs wrote about the same chunk since it was planned.
 * `wanted` are the chunk's keys; of several labels with one key the first counts, own ones first.
 *
 * A record without a label counts only while no record has one, and only in the improvement run that wrote it: the next
 * improvement run asks again.
 */
export async function knownLabels(
  store: ArtifactStore,
  agent: string,
  model: string,
  chunk: Chunk,
  runId: string,
  wanted: ReadonlySet<string>,
): Promise<KnownLabels> {
  const ownSegment = labelSegment(agent, model, chunk, runId);
  const own = await readLabels(store, ownSegment);
  const directory = labelDirectory(agent, model);
  const prefix = `${chunk.hash.slice(0, 16)}.`;
  const sameChunk = (await store.list(directory))
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
  for (const source of new Set([...chunk.sources, ...sameChunk])) {
    if (labels.size === wanted.size) break;
    if (source === ownSegment) continue;
    const others = await readLabels(store, source);
    others.filter(({ label }) => label.label !== null).forEach(keep);
    others.forEach(countRefusal);
  }
  return { labels, own, refusals };
}

/** Whether any improvement run has left labels for this prompt version and model. */
export async function hasLabels(store: ArtifactStore, agent: string, model: string): Promise<boolean> {
  return (await store.list(labelDirectory(agent, model))).length > 0;
}

/** For each wanted key that has a label in the cache: the first segment that holds it. */
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
