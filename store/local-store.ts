import { createHash, randomBytes } from 'node:crypto';
import { cp, open, readdir, rename, rm, stat, utimes } from 'node:fs/promises';
import { basename, dirname, extname, join, normalize } from 'node:path';
import type { ArtifactRef } from '../contracts/artifacts/artifact-ref';
import type {
  ArtifactOptions,
  ArtifactParts,
  ArtifactStore,
  Segment,
  StoredDocument,
  StoredFile,
} from './artifact-store';
import { artifactError, StoreKeyError } from './errors';
import { onDisk } from './file-errors';
import { makeFolder, syncFolder, syncTree } from './folders';
import { documentOfFolder, LocalDocuments } from './local-documents';
import { filesUnder, removeTree } from './local-removal';
import { LocalSegment } from './local-segment';
import { modelDirectorySha256 } from './model-hash';
import { fileSha256, openFile, orIfMissing, piecesOf, readWholeFile } from './read-files';
import { splitLines } from './split-lines';

/** Number of bytes that are written at a time. */
const PART_BYTES = 1 << 20;

const MEDIA_TYPES: Record<string, string> = {
  '.json': 'application/json',
  '.jsonl': 'application/jsonl',
  '.html': 'text/html',
  '.py': 'text/x-python',
  '.svg': 'image/svg+xml',
};

const sha256Hex = (data: string | Uint8Array) => createHash('sha256').update(data).digest('hex');

/** Largest artifact that is read as a whole, which is Node's own limit. Longer ones are read by lines. */
const LARGEST_ARTIFACT_BYTES = 2 ** 31 - 1;

const NOT_ITS_HASH = 'does not have the bytes that its hash says';

/**
 * Artifact store in a local directory. Files are written under another name, synced and renamed, so that nobody reads
 * half a file.
 */
export class LocalStore implements ArtifactStore {
  private readonly documents = new LocalDocuments((key) => this.localPath(key));

  constructor(private readonly root: string) {}

  localPath(key: string): string {
    // `..` is refused even if the path stays inside the store, because no run, agent or file has such a name.
    if (key.startsWith('/') || key.includes('\0') || key.split('/').includes('..')) throw new StoreKeyError(key);
    return join(this.root, normalize(key));
  }

  put(directory: string, name: string, data: string | Uint8Array, options: ArtifactOptions = {}): Promise<ArtifactRef> {
    const bytes = typeof data === 'string' ? Buffer.from(data, 'utf8') : data;
    return onDisk(this.localPath(directory), this.putOnce(directory, name, bytes, options));
  }

  /** If the file already exists it is not written again, so a repeated stage needs no space. */
  private async putOnce(
    directory: string,
    name: string,
    data: Uint8Array,
    options: ArtifactOptions,
  ): Promise<ArtifactRef> {
    const ref = artifactRef(directory, name, { sha256: sha256Hex(data), bytes: data.length }, options);
    const isThere = (await fileSha256(this.localPath(ref.key)).catch(() => null)) === ref.sha256;
    return isThere ? ref : this.writeArtifact(directory, name, [data], options);
  }

  putParts(directory: string, name: string, parts: ArtifactParts, options: ArtifactOptions = {}): Promise<ArtifactRef> {
    return onDisk(this.localPath(directory), this.writeArtifact(directory, name, parts, options));
  }

  /** The name of an artifact is only known after all of it is written, so it is first written under another name. */
  private async writeArtifact(
    directory: string,
    name: string,
    parts: ArtifactParts,
    options: ArtifactOptions,
  ): Promise<ArtifactRef> {
    await makeFolder(this.localPath(directory));
    const temporary = this.localPath(`${directory}/${name}.${randomBytes(6).toString('hex')}.tmp`);
    try {
      const ref = artifactRef(directory, name, await writeParts(temporary, parts), options);
      const path = this.localPath(ref.key);
      const isThere = (await fileSha256(path).catch(() => null)) === ref.sha256;
      if (!isThere) {
        await rename(temporary, path);
        await syncFolder(dirname(path));
      }
      return ref;
    } finally {
      await rm(temporary, { force: true }).catch(() => undefined);
    }
  }

  async get({ key, sha256 }: ArtifactRef): Promise<Buffer> {
    const data = await this.readArtifact(key);
    if (sha256Hex(data) !== sha256) throw artifactError('corrupt', key, NOT_ITS_HASH);
    return data;
  }

  async getNamed(key: string): Promise<Buffer> {
    const data = await this.readArtifact(key);
    const named = /-([0-9a-f]{12})\.[^./]+$/.exec(key)?.[1];
    if (named === undefined || !sha256Hex(data).startsWith(named)) throw artifactError('corrupt', key, NOT_ITS_HASH);
    return data;
  }

  private async readArtifact(key: string): Promise<Buffer> {
    const path = this.localPath(key);
    const data = await onDisk(path, orIfMissing(readWholeFile(path, LARGEST_ARTIFACT_BYTES), null));
    if (data === null) throw artifactError('missing', key, 'is missing');
    return data;
  }

  async range(
    { key }: ArtifactRef,
    { start, end, sha256 }: { start: number; end: number; sha256: string },
  ): Promise<Buffer> {
    const path = this.localPath(key);
    const data = await onDisk(path, orIfMissing(readBytes(path, start, end), null));
    if (data === null) throw artifactError('missing', key, 'is missing');
    if (sha256Hex(data) !== sha256)
      throw artifactError('corrupt', key, `has other bytes than were written at ${start} to ${end}`);
    return data;
  }

  async *lines({ key, sha256 }: ArtifactRef): AsyncIterable<{ line: Buffer; end: number }> {
    const path = this.localPath(key);
    // The hash is checked before the first line is returned, so that no line of a damaged artifact is used.
    const found = await onDisk(path, orIfMissing(fileSha256(path), null));
    if (found === null) throw artifactError('missing', key, 'is missing');
    if (found !== sha256) throw artifactError('corrupt', key, NOT_ITS_HASH);
    const parts = await piecesOf(path);
    for await (const { bytes, end, isComplete } of splitLines(parts, { withFeed: true }))
      if (isComplete || (bytes as Buffer).length > 0) yield { line: bytes as Buffer, end };
  }

  async adoptDirectory(directory: string, stem: string, sha256: string, sourcePath: string): Promise<string> {
    const key = `${directory}/${stem}-${sha256.slice(0, 12)}`;
    const target = this.localPath(key);
    await onDisk(target, makeFolder(dirname(target)));
    // Whoever may write to the store may have changed what is there.
    const found = await onDisk(target, orIfMissing(modelDirectorySha256(target), null));
    if (found === sha256 && (await touch(target))) return key;
    if (found !== null) {
      // Nothing is removed where there is nothing to take its place.
      await onDisk(sourcePath, stat(sourcePath));
      await this.remove(key, Number.MAX_SAFE_INTEGER);
    }
    await onDisk(target, moveFolder(sourcePath, target)).catch((error: NodeJS.ErrnoException) => {
      // Another process may have just moved the same content there. The name contains the hash, so either copy is fine.
      if (error.code !== 'ENOTEMPTY' && error.code !== 'EEXIST') throw error;
    });
    await onDisk(target, syncFolder(dirname(target)));
    await touch(target);
    return key;
  }

  readDocument(key: string): Promise<StoredDocument | null> {
    return this.documents.read(key);
  }

  swapDocument(key: string, value: unknown, expected: string | null): Promise<string> {
    return this.documents.swap(key, value, expected);
  }

  segment(key: string): Segment {
    return new LocalSegment(key, this.localPath(key));
  }

  async list(key: string): Promise<string[]> {
    const names = await orIfMissing(readdir(this.localPath(key)), []).catch((error: NodeJS.ErrnoException) => {
      // Desktops leave hidden files where only folders are expected.
      if (error.code === 'ENOTDIR' && basename(key).startsWith('.')) return [];
      throw error;
    });
    const entries = names.filter((name) => !name.endsWith('.tmp')).map((name) => documentOfFolder(name) ?? name);
    return [...new Set(entries)].sort();
  }

  async *listAll(prefix: string): AsyncIterable<StoredFile> {
    const start = this.localPath(prefix) === this.localPath('') ? '' : normalize(prefix).replace(/\/+$/, '');
    for await (const { path, ...file } of filesUnder(this.root, start)) yield { key: path, ...file };
  }

  async remove(key: string, unmodifiedSinceMs: number): Promise<boolean> {
    const path = normalize(key).replace(/\/+$/, '');
    if (this.localPath(path) === this.localPath('')) throw new RangeError('The store as a whole cannot be removed.');
    return removeTree(this.root, path, unmodifiedSinceMs);
  }
}

function artifactRef(
  directory: string,
  name: string,
  { sha256, bytes }: { sha256: string; bytes: number },
  { mediaType, records }: ArtifactOptions,
): ArtifactRef {
  const extension = extname(name);
  const stem = name.slice(0, name.length - extension.length);
  return {
    key: `${directory}/${stem}-${sha256.slice(0, 12)}${extension}`,
    sha256,
    bytes,
    mediaType: mediaType ?? MEDIA_TYPES[extension] ?? 'application/octet-stream',
    ...(records === undefined ? {} : { records }),
  };
}

/** Moves a folder. Where its new place is on another disk, it is copied there, and the original stays. */
async function moveFolder(from: string, to: string): Promise<void> {
  try {
    await rename(from, to);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EXDEV') throw error;
    const copy = `${to}.${randomBytes(6).toString('hex')}.tmp`;
    try {
      await cp(from, copy, { recursive: true });
      await syncTree(copy);
      await rename(copy, to);
    } finally {
      await rm(copy, { recursive: true, force: true }).catch(() => undefined);
    }
  }
}

/** Sets the modification time of a file or directory to now. False if it does not exist. */
async function touch(path: string): Promise<boolean> {
  const now = new Date();
  return orIfMissing(
    utimes(path, now, now).then(() => true),
    false,
  );
}

/** Writes a file from parts, syncs it to the disk, and returns a reference to its content. */
async function writeParts(path: string, parts: ArtifactParts): Promise<{ sha256: string; bytes: number }> {
  const hash = createHash('sha256');
  let bytes = 0;
  const file = await open(path, 'wx');
  try {
    let held: Uint8Array[] = [];
    let length = 0;
    const flush = async () => {
      const data = Buffer.concat(held);
      [held, length] = [[], 0];
      hash.update(data);
      bytes += data.length;
      await file.writeFile(data);
    };
    for await (const part of parts) {
      const data = typeof part === 'string' ? Buffer.from(part, 'utf8') : part;
      held.push(data);
      length += data.length;
      if (length >= PART_BYTES) await flush();
    }
    await flush();
    await file.sync();
  } finally {
    await file.close();
  }
  return { sha256: hash.digest('hex'), bytes };
}

/** The bytes of a file from `start` to `end`; fewer if the file is shorter. */
async function readBytes(path: string, start: number, end: number): Promise<Buffer> {
  const file = await openFile(path);
  try {
    const data = Buffer.alloc(end - start);
    const { bytesRead } = await file.read(data, 0, data.length, start);
    return data.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
}
