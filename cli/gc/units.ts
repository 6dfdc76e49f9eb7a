import type { StoredFile } from '../../store';

/** Kinds of parts that the garbage collector can remove. */
export const UNIT_KINDS = [
  'run',
  'study',
  'checkpoints',
  'adapter',
  'label segment',
  'live traces',
  'canary outcomes',
  'temporary file',
  'leftover of a removal',
] as const;
/** Kind of a unit. */
export type UnitKind = (typeof UNIT_KINDS)[number];

/** A part of the store that is removed as a whole or stays as a whole. */
export interface Unit {
  kind: UnitKind;
  key: string;
  /** The agent, if the key names it. */
  agent: string | null;
  bytes: number;
  files: string[];
  /** Latest modification of one of its files, in milliseconds since 1970. */
  newestMs: number;
}

/** Whether a unit is the folder of a run or of a study. */
export const isRun = ({ kind }: Pick<Unit, 'kind'>): boolean => kind === 'run' || kind === 'study';

/**
 * Divides the files of a store into units. A temporary file and the checkpoints of a training are units of their own,
 * next to their run. A file that belongs to no unit is never removed.
 */
export async function readUnits(files: AsyncIterable<StoredFile>): Promise<Unit[]> {
  const units = new Map<string, Unit>();
  for await (const { key, bytes, modifiedMs } of files) {
    for (const { kind, key: unitKey, agent } of placesOf(key)) {
      const id = `${kind} ${unitKey}`;
      const unit = units.get(id) ?? { kind, key: unitKey, agent, bytes: 0, files: [], newestMs: 0 };
      unit.bytes += bytes;
      unit.files.push(key);
      unit.newestMs = Math.max(unit.newestMs, kind === 'leftover of a removal' ? removedAt(unitKey) : modifiedMs);
      units.set(id, unit);
    }
  }
  return [...units.values()];
}

type Place = Pick<Unit, 'kind' | 'key' | 'agent'>;

/**
 * The store's top-level folders with their kind of unit. `parts`: number of key segments that name a unit. `ofAgent`:
 * the second segment is the agent. `mayBeFile`: a unit may be a file.
 */
const FOLDERS: Record<string, { kind: UnitKind; parts: number; ofAgent: boolean; mayBeFile?: boolean }> = {
  runs: { kind: 'run', parts: 2, ofAgent: false },
  studies: { kind: 'study', parts: 2, ofAgent: false },
  adapters: { kind: 'adapter', parts: 3, ofAgent: true },
  'labels-cache': { kind: 'label segment', parts: 4, ofAgent: true, mayBeFile: true },
  traces: { kind: 'live traces', parts: 3, ofAgent: true },
  canary: { kind: 'canary outcomes', parts: 3, ofAgent: true },
  '.removed': { kind: 'leftover of a removal', parts: 2, ofAgent: false, mayBeFile: true },
};

/**
 * Labels are in `labels-cache/<agent>/<hash>/sets/<set>/<run>.jsonl`; other content of that folder is removed as a
 * whole.
 */
const LABEL_SEGMENT_PARTS = 6;

function folderOf(parts: readonly string[]) {
  const name = parts[0] ?? '';
  const folder = Object.hasOwn(FOLDERS, name) ? FOLDERS[name] : undefined;
  return folder?.kind === 'label segment' && parts[3] === 'sets' ? { ...folder, parts: LABEL_SEGMENT_PARTS } : folder;
}

function placesOf(key: string): Place[] {
  const parts = key.split('/');
  const folder = folderOf(parts);
  const places: Place[] = [];
  const temporary = temporaryPart(parts);
  if (folder?.kind !== 'leftover of a removal' && temporary !== null)
    places.push({ kind: 'temporary file', key: temporary, agent: null });
  const checkpoints = /^runs\/[^/]+\/training\/[^/]+\/checkpoints(?=\/)/.exec(key)?.[0];
  if (checkpoints !== undefined) places.push({ kind: 'checkpoints', key: checkpoints, agent: null });
  // A file outside the folders of units, such as one in `runs/` itself, belongs to none.
  if (folder === undefined || parts.length < folder.parts + (folder.mayBeFile ? 0 : 1)) return places;
  if (temporary === null || !folder.mayBeFile)
    places.push({
      kind: folder.kind,
      key: parts.slice(0, folder.parts).join('/'),
      agent: folder.ofAgent ? (parts[1] as string) : null,
    });
  return places;
}

/**
 * The temporary file or folder in a key, which a writer creates and then renames or removes. It remains if the writer
 * is killed or the disk is full. Null if the key has none. A lock, such as a trainer's, belongs to the unit that it
 * guards: without the lock's file a second holder could take it.
 */
function temporaryPart(parts: readonly string[]): string | null {
  const at = parts.findIndex((part) => /\.tmp$/.test(part) || /^adopted-[0-9a-f]{12}$/.test(part));
  return at < 0 ? null : parts.slice(0, at + 1).join('/');
}

const removedAt = (key: string): number => Number(/^\.removed\/(\d+)-/.exec(key)?.[1] ?? 0);
