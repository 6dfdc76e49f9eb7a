import { z } from 'zod';
import { type ArtifactStore, changeDocument, layout, StoreConflictError } from '../store';
import type { FileHashes, FileStamp } from '../store/model-hash';

/** Number of remembered files: enough for dozens of models. */
const MAX_FILES = 2_000;

const documentSchema = z.record(
  z.string(),
  z.object({
    stamp: z.object({ size: z.number(), inode: z.string(), modified: z.string(), changed: z.string() }),
    sha256: z.string(),
  }),
);
type Remembered = z.infer<typeof documentSchema>;

/** Hashes of files by path, in a document of the store. A file without a readable entry is hashed again. */
export function storedFileHashes(store: ArtifactStore): FileHashes {
  const key = layout.modelFileHashes;
  return {
    async find(path, stamp) {
      const document = await store.readDocument(key).catch(() => null);
      const known = parse(document?.value)[path];
      return known !== undefined && isSame(known.stamp, stamp) ? known.sha256 : undefined;
    },
    async keep(path, stamp, sha256) {
      try {
        await changeDocument(store, key, (before) => {
          const { [path]: _old, ...others } = parse(before);
          const newest = Object.entries(others).slice(-(MAX_FILES - 1));
          return { value: { ...Object.fromEntries(newest), [path]: { stamp, sha256 } }, result: undefined };
        });
      } catch (error) {
        // Another process wrote at the same time. So this file is hashed again next time.
        if (!(error instanceof StoreConflictError)) throw error;
      }
    },
  };
}

const parse = (value: unknown): Remembered => documentSchema.safeParse(value).data ?? {};

const isSame = (a: FileStamp, b: FileStamp): boolean =>
  a.size === b.size && a.inode === b.inode && a.modified === b.modified && a.changed === b.changed;
