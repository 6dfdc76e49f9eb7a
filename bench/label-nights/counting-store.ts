import { stat } from 'node:fs/promises';
import type { ArtifactStore } from '../../store';

/** What has been read from a store. */
export interface StoreReads {
  /** Reads of artifacts, documents and segments, and listings of folders. */
  reads: number;
  /** Bytes of what was read; a name in a listing counts as its length. */
  bytes: number;
}

/** A store whose reads are counted.  */
export function countingStore(store: ArtifactStore): { store: ArtifactStore; reads: StoreReads } {
  const reads: StoreReads = { reads: 0, bytes: 0 };
  const count = (bytes: number) => {
    reads.reads++;
    reads.bytes += bytes;
  };
  const countFile = async (key: string) => count((await stat(store.localPath(key)).catch(() => null))?.size ?? 0);
  const counted: Partial<ArtifactStore> = {
    get: async (ref) => (count(ref.bytes), store.get(ref)),
    range: async (ref, part) => (count(part.end - part.start), store.range(ref, part)),
    lines: (ref) => (count(ref.bytes), store.lines(ref)),
    readDocument: async (key) => (await countFile(key), store.readDocument(key)),
    list: async (key) => {
      const names = await store.list(key);
      count(names.reduce((sum, name) => sum + name.length, 0));
      return names;
    },
    segment: (key) => {
      const segment = store.segment(key);
      return Object.assign(Object.create(segment) as typeof segment, {
        read: (...args: Parameters<typeof segment.read>) => {
          const reading = segment.read(...args);
          reads.reads++;
          const lines = async function* () {
            for await (const line of reading) {
              reads.bytes += line.end - line.start;
              yield line;
            }
          };
          return Object.assign(Object.create(reading) as typeof reading, { [Symbol.asyncIterator]: lines });
        },
        append: segment.append.bind(segment),
        close: segment.close.bind(segment),
      });
    },
  };
  const proxy = new Proxy(store, {
    get(target, name) {
      const value: unknown = name in counted ? counted[name as keyof ArtifactStore] : Reflect.get(target, name);
      return typeof value === 'function' ? (value as (...args: unknown[]) => unknown).bind(target) : value;
    },
  });
  return { store: proxy, reads };
}
