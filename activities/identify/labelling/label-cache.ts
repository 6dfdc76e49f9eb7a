/**
 * The label cache of an agent. All its improvement runs share it, so that no label is paid for twice. Each improvement
 * run writes its own segments, one for each set of trajectories, and reads other runs' segments (docs/adr/0013).
 */
import { z } from 'zod';
import { type Candidate, type LabelRecord, labelRecordSchema } from '../../../contracts/artifacts/identification';
import { contentKey } from '../../../llm';
import { layout, readSegment, type ArtifactStore, type DamagedLines } from '../../../store';
import { callRecordSchema } from '../../../contracts/artifacts/call-record';
import { warnOfDamage } from '../../warn-of-damage';
import { LABEL_PROMPT_VERSION } from '../../label-prompt/label-messages';
import { LabelIndex } from './label-index';
import type { Chunk, LabelPlace } from './label-plan';

/** A line of a label segment. It has the label together with its cost, so that no crash can separate the two. */
export const storedLabelSchema = z.object({ label: labelRecordSchema, call: callRecordSchema });
export type StoredLabel = z.infer<typeof storedLabelSchema>;

/** The part of a line that counts if another improvement run paid for it. */
const foundLabelSchema = storedLabelSchema.pick({ label: true });

/** Number of labels that are added together when the index is built. */
const LABELS_AT_ONCE = 100_000;

/**
 * Content key of a label; each key is asked once. The labelling runs of an identification are independent: the same
 * question in another labelling run (counted from 0) has another key.
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

/** Name of the folder with the labels of a set of trajectories in one labelling run, whatever the questions were. */
export const labelSetName = (trajectoryIds: readonly string[], labellingRun: number): string =>
  `${contentKey('label-set', ...trajectoryIds).slice(0, 16)}.r${labellingRun}`;

/** The cached labels of one chunk. */
export interface KnownLabels {
  /** The valid label of each key. */
  labels: Map<string, LabelRecord>;
  /** All readable lines of this improvement run's own segment. */
  own: StoredLabel[];
  /** Number of lines in the own segment, including damaged ones. */
  ownLines: number;
  /** For each key, the number of calls that gave no valid label. */
  refusals: Map<string, number>;
  /** The segments with damaged lines. The labels of those lines are asked for again. */
  damaged: DamagedLines[];
}

/** The labels of one agent, prompt version and model. */
export class LabelCache {
  private readonly directory: string;

  constructor(
    private readonly store: ArtifactStore,
    agent: string,
    model: string,
  ) {
    this.directory = `${layout.labelsCache(agent)}/${contentKey(LABEL_PROMPT_VERSION, model).slice(0, 12)}`;
  }

  /**
   * The segment to which an improvement run writes the labels of a chunk. It is named `runId`, because a segment has
   * only one writer.
   */
  segment(chunk: Chunk, runId: string): string {
    return `${this.setDirectory(chunk.set)}/${runId}.jsonl`;
  }

  /** The document with which improvement runs agree who asks about a chunk's trajectories. */
  claimKey(chunk: Chunk): string {
    return `${this.setDirectory(chunk.set)}/claim.json`;
  }

  /** The labels of all trajectories, by trajectory. Its operations end when the signal fires. */
  index(signal: AbortSignal): LabelIndex {
    return new LabelIndex(this.store, `${this.directory}/pages`, () => this.everyLabel(), signal);
  }

  /**
   * The labels of a chunk that are already in the cache. They come from this improvement run's segment, from other
   * runs' segments about the same trajectories, and from the plan's sources. If one of these is damaged, they come from
   * the index. `wanted` has the chunk's keys, each with its trajectory. Of several labels with one key, the first
   * counts; this run's labels come first.
   *
   * A record without a label counts only if no other record of the key has one, and only in the improvement run that
   * wrote it. The next improvement run asks again.
   */
  async known(
    chunk: Chunk,
    runId: string,
    wanted: ReadonlyMap<string, string>,
    signal: AbortSignal,
  ): Promise<KnownLabels> {
    const ownSegment = this.segment(chunk, runId);
    const { values: own, damaged } = await readSegment(this.store.segment(ownSegment), storedLabelSchema);
    const known: KnownLabels = {
      labels: new Map(),
      own,
      ownLines: own.length + damaged.count,
      refusals: new Map(),
      damaged: [damaged],
    };
    const { labels, refusals } = known;
    const keep = (label: LabelRecord) => {
      if (wanted.has(label.key) && (labels.get(label.key)?.label ?? null) === null) labels.set(label.key, label);
    };
    const countRefusal = ({ key, label }: LabelRecord) => {
      if (label === null) refusals.set(key, (refusals.get(key) ?? 0) + 1);
    };
    const keepOfOthers = (others: readonly LabelRecord[]) => {
      others.filter(({ label }) => label !== null).forEach(keep);
      others.forEach(countRefusal);
    };
    own.forEach(({ label }) => keep(label));
    own.forEach(({ label }) => countRefusal(label));
    const isMissing = (key: string) => (labels.get(key)?.label ?? null) === null;
    const isComplete = () => ![...wanted.keys()].some(isMissing);
    let isDamaged = false;
    for (const source of [...(await this.sameSet(chunk)), ...chunk.sources]) {
      if (isComplete()) break;
      if (source.segment === ownSegment) continue;
      const others = await this.read(source);
      known.damaged.push(others.damaged);
      isDamaged ||= !others.isWhole;
      keepOfOthers(others.labels);
    }
    if (isDamaged && !isComplete()) {
      const ids = new Set([...wanted].flatMap(([key, id]) => (isMissing(key) ? [id] : [])));
      keepOfOthers([...(await this.index(signal).find([...ids])).values()].flat());
    }
    known.damaged.forEach(warnOfDamage);
    known.damaged = known.damaged.filter(({ count }) => count > 0);
    return known;
  }

  private setDirectory(set: string): string {
    return `${this.directory}/sets/${set}`;
  }

  /** The segments of all improvement runs about exactly the chunk's trajectories. */
  private async sameSet({ set }: Chunk): Promise<LabelPlace[]> {
    const directory = this.setDirectory(set);
    const segments = (await this.store.list(directory)).filter(isSegment);
    return segments.map((name) => ({ segment: `${directory}/${name}`, start: 0, end: Infinity }));
  }

  /** Labels of a place, in the order in which they were written. A damaged line counts as no label. */
  private async read({ segment, start, end }: LabelPlace) {
    const reading = this.store.segment(segment).read(foundLabelSchema, start, end);
    const labels: LabelRecord[] = [];
    for await (const { value } of reading) labels.push(value.label);
    const isWhole = reading.damaged.count === 0 && (end === Infinity || reading.end === end);
    return { labels, damaged: reading.damaged, isWhole };
  }

  /** All labels in portions. Reads everything. */
  private async *everyLabel(): AsyncGenerator<LabelRecord[]> {
    let portion: LabelRecord[] = [];
    for (const segment of await segmentsBelow(this.store, this.directory)) {
      const { labels, damaged } = await this.read({ segment, start: 0, end: Infinity });
      warnOfDamage(damaged);
      portion.push(...labels);
      if (portion.length < LABELS_AT_ONCE) continue;
      yield portion;
      portion = [];
    }
    yield portion;
  }
}

const isSegment = (name: string): boolean => name.endsWith('.jsonl');

/** Keys of the label segments of one prompt version and model. */
async function segmentsBelow(store: ArtifactStore, directory: string): Promise<string[]> {
  const keys: string[] = [];
  for (const set of await store.list(`${directory}/sets`)) {
    const names = (await store.list(`${directory}/sets/${set}`)).filter(isSegment);
    keys.push(...names.map((name) => `${directory}/sets/${set}/${name}`));
  }
  return keys;
}
