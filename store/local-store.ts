import { createHash, randomBytes } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { link, mkdir, open, readFile, readdir, rename, rm, stat, utimes } from 'node:fs/promises';
import { dirname, extname, join, normalize } from 'node:path';
import type { ArtifactRef } from '../contracts/artifacts/artifact-ref';
import type { ArtifactStore, Segment, StoredDocument, StoredFile } from './artifact-store';
import { StoreConflictError, StoreCorruptError } from './errors';
import { filesUnder, removeTree } from './local-removal';
import { LocalSegment } from './local-segment';
import { orIfMissing } from './missing-files';
import { replaceFile } from './replace-file';

const MEDIA_TYPES: Record<string, string> = {
  '.json': 'application/json',
  '.jsonl': 'application/jsonl',
  '.html': 'text/html',
  '.py': 'text/x-python',
  '.svg': 'image/svg+xml',
};

const sha256Hex = (data: string | Uint8Array) => createHash('sha256').update(data).digest('hex');

const corrupt = ({ key, sha256 }: Pick<ArtifactRef, 'key' | 'sha256'>) =>
  new StoreCorruptError(
    `Artifact ${key} does not match its sha256 ${sha256.slice(0, 12)}…: restore it, or delete it and run its ` +
      'stage again.',
  );

/**
 * Artifact store in a local directory. Files are written aside, synced and renamed, so that nobody reads half a file.
 */
export class LocalStore implements ArtifactStore {
  constructor(private readonly root: string) {}

  localPath(key: string): string {
    const path = normalize(key);
    if (path.startsWith('..') || path.startsWith('/'))
      throw new RangeError(`Store key ${JSON.stringify(key)} leaves the store.`);
    return join(this.root, path);
  }

  async put(
    directory: string,
    name: string,
    data: string | Uint8Array,
    options: { mediaType?: string; records?: number } = {},
  ): Promise<ArtifactRef> {
    const bytes = typeof data === 'string' ? Buffer.from(data, 'utf8') : data;
    const sha256 = sha256Hex(bytes);
    const extension = extname(name);
    const stem = name.slice(0, name.length - extension.length);
    const key = `${directory}/${stem}-${sha256.slice(0, 12)}${extension}`;
    const mediaType = options.mediaType ?? MEDIA_TYPES[extension] ?? 'application/octet-stream';
    const ref: ArtifactRef = {
      key,
      sha256,
      bytes: bytes.byteLength,
      mediaType,
      ...(options.records === undefined ? {} : { records: options.records }),
    };
    const existing = await readFile(this.localPath(key)).catch(() => null);
    if (existing === null || sha256Hex(existing) !== sha256) await replaceFile(this.localPath(key), bytes);
    return ref;
  }

  async get(ref: ArtifactRef): Promise<Buffer> {
    const data = await readFile(this.localPath(ref.key));
    if (sha256Hex(data) !== ref.sha256) {
      throw corrupt(ref);
    }
    return data;
  }

  async getNamed(key: string): Promise<Buffer> {
    const data = await readFile(this.localPath(key));
    const named = /-([0-9a-f]{12})\.[^./]+$/.exec(key)?.[1];
    if (named === undefined || !sha256Hex(data).startsWith(named)) throw corrupt({ key, sha256: named ?? 'none' });
    return data;
  }

  async range(
    { key }: ArtifactRef,
    { start, end, sha256 }: { start: number; end: number; sha256: string },
  ): Promise<Buffer> {
    const file = await open(this.localPath(key));
    try {
      const data = Buffer.alloc(end - start);
      const { bytesRead } = await file.read(data, 0, data.length, start);
      if (bytesRead === data.length && sha256Hex(data) === sha256) return data;
    } finally {
      await file.close();
    }
    throw new StoreCorruptError(
      `Bytes ${start} to ${end} of artifact ${key} are not what they were: restore it, or delete it and run its ` +
        'stage again.',
    );
  }

  async *lines(ref: ArtifactRef): AsyncIterable<{ line: Buffer; end: number }> {
    const hash = createHash('sha256');
    let end = 0;
    let rest: Buffer[] = [];
    for await (const part of createReadStream(this.localPath(ref.key), {
      highWaterMark: 1 << 20,
    }) as AsyncIterable<Buffer>) {
      hash.update(part);
      let from = 0;
      for (let at = part.indexOf(10); at !== -1; at = part.indexOf(10, from)) {
        const line = Buffer.concat([...rest, part.subarray(from, at + 1)]);
        rest = [];
        from = at + 1;
        yield { line, end: (end += line.length) };
      }
      if (from < part.length) rest.push(part.subarray(from));
    }
    const line = Buffer.concat(rest);
    if (line.length > 0) yield { line, end: end + line.length };
    if (hash.digest('hex') !== ref.sha256) throw corrupt(ref);
  }

  async adoptDirectory(directory: string, stem: string, sha256: string, sourcePath: string): Promise<string> {
    const key = `${directory}/${stem}-${sha256.slice(0, 12)}`;
    const target = this.localPath(key);
    await mkdir(dirname(target), { recursive: true });
    if (await touch(target)) return key;
    await rename(sourcePath, target).catch((error: NodeJS.ErrnoException) => {
      // Somebody may have just moved the same content there. The name contains the hash, so either copy will do.
      if (error.code !== 'ENOTEMPTY' && error.code !== 'EEXIST') throw error;
    });
    await touch(target);
    return key;
  }

  async readDocument(key: string): Promise<StoredDocument | null> {
    const data = await orIfMissing(readFile(this.localPath(key)), null);
    return data && { value: JSON.parse(data.toString('utf8')) as unknown, etag: sha256Hex(data) };
  }

  async swapDocument(key: string, value: unknown, expected: string | null): Promise<string> {
    const path = this.localPath(key);
    const data = Buffer.from(`${JSON.stringify(value, null, 2)}\n`);
    return this.withLock(path, async () => {
      const current = (await this.readDocument(key))?.etag ?? null;
      if (current !== expected)
        throw new StoreConflictError(
          `Document ${key} was changed by somebody else: read it again and repeat the change.`,
        );
      await replaceFile(path, data);
      return sha256Hex(data);
    });
  }

  segment(key: string): Segment {
    return new LocalSegment(key, this.localPath(key));
  }

  async list(key: string): Promise<string[]> {
    return (await orIfMissing(readdir(this.localPath(key)), [])).sort();
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

  /**
   * Runs the action with a lock file, made by link(2). A lock older than 10 s is taken to be of a process that died.
   */
  private async withLock<T>(path: string, action: () => Promise<T>): Promise<T> {
    await mkdir(dirname(path), { recursive: true });
    const lock = `${path}.lock`;
    const own = `${lock}.${randomBytes(6).toString('hex')}`;
    await (await open(own, 'wx')).close();
    try {
      for (let attempt = 0; ; attempt++) {
        try {
          await link(own, lock);
          break;
        } catch (error) {
          if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
          const age = Date.now() - ((await stat(lock).catch(() => null))?.mtimeMs ?? Date.now());
          if (age > 10_000) await rm(lock, { force: true });
          else if (attempt > 500) throw new StoreConflictError(`Document ${path} is locked by somebody else.`);
          else await new Promise((resolve) => setTimeout(resolve, 20));
        }
      }
      try {
        return await action();
      } finally {
        await rm(lock, { force: true });
      }
    } finally {
      await rm(own, { force: true });
    }
  }
}

/** Sets the modification time of a file or directory to now. False if there is none. */
async function touch(path: string): Promise<boolean> {
  const now = new Date();
  return orIfMissing(
    utimes(path, now, now).then(() => true),
    false,
  );
}
