import { createHash } from 'node:crypto';
import { open, readdir, stat } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { jsonFault } from '../contracts/json-fault';
import { fileSha256, readWholeFile } from './read-files';

/** Extensions of the files of a model or adapter: configuration, tokenizer, weights. */
const MODEL_FILES = new Set(['.json', '.safetensors', '.jinja', '.txt', '.model']);

/** Identifies a file's content without reading it. New content changes at least `changed`. */
export interface FileStamp {
  size: number;
  inode: string;
  /** Time of the content's last change, in nanoseconds. */
  modified: string;
  /** Time of the last change of the file's inode, in nanoseconds. Unlike `modified`, it cannot be set by programs. */
  changed: string;
}

/** Caches hashes of large files, so that the same file is read only once. */
export interface FileHashes {
  /** The sha256 of the file if its stamp is unchanged; else undefined. */
  find(path: string, stamp: FileStamp): Promise<string | undefined>;
  /** Remembers a hash. Called after each file, so that an interrupted hashing continues after it. */
  keep(path: string, stamp: FileStamp, sha256: string): Promise<void>;
}

/** Options for hashing a directory. */
export interface HashOptions {
  hashes?: FileHashes;
  /** Called with the number of bytes hashed so far (cached files count) and the number of bytes of all files. */
  onProgress?: (done: number, total: number) => void;
  signal?: AbortSignal;
}

/**
 * Hash of a model's or adapter's directory, equal to the trainer's (`whetstone.tree_hash`): sha256 over `name NUL
 * sha256-hex LF` of each of its files, sorted by name. Rejects if the directory cannot be read, and with the signal's
 * reason.
 */
export async function modelDirectorySha256(directory: string, options: HashOptions = {}): Promise<string> {
  const { hashes, onProgress, signal } = options;
  const files: { name: string; path: string; stamp: FileStamp }[] = [];
  for (const name of await modelFiles(directory)) {
    const path = join(directory, name);
    files.push({ name, path, stamp: await stampOf(path) });
  }
  const bytes = files.reduce((sum, { stamp }) => sum + stamp.size, 0);
  const total = createHash('sha256');
  let before = 0;
  for (const { name, path, stamp } of files) {
    onProgress?.(before, bytes);
    signal?.throwIfAborted();
    let sha256 = await hashes?.find(path, stamp);
    if (sha256 === undefined) {
      sha256 = await fileSha256(path, (read) => {
        signal?.throwIfAborted();
        onProgress?.(before + read, bytes);
      });
      await hashes?.keep(path, stamp, sha256);
    }
    before += stamp.size;
    total.update(`${name}\0${sha256}\n`);
  }
  onProgress?.(bytes, bytes);
  return total.digest('hex');
}

/** A file of a model with its size and, if it is small, its hash. */
export interface ModelFile {
  name: string;
  bytes: number;
  sha256: string | null;
}

/**
 * Lists the files of a model's directory. Only files of at most `hashedBytes` are read for their hash, so that even a
 * large model takes little time. Rejects if the directory cannot be read.
 */
export async function listModelFiles(directory: string, hashedBytes: number): Promise<ModelFile[]> {
  const files: ModelFile[] = [];
  for (const name of await modelFiles(directory)) {
    const path = join(directory, name);
    const { size } = await stat(path);
    files.push({ name, bytes: size, sha256: size <= hashedBytes ? await fileSha256(path) : null });
  }
  return files;
}

/**
 * Describes the damage of each file of a model or adapter directory that is visible without knowing its content: a
 * missing weights file, a truncated one, unreadable JSON. Empty if no damage is visible.
 */
export async function damagedFiles(directory: string): Promise<string[]> {
  const names = await modelFiles(directory);
  const found: string[] = [];
  if (!names.some((name) => name.endsWith('.safetensors'))) found.push('it has no file of weights (*.safetensors)');
  for (const name of names) {
    const path = join(directory, name);
    const fault = name.endsWith('.safetensors')
      ? await weightsFault(path)
      : name.endsWith('.json')
        ? await jsonFileFault(path)
        : null;
    if (fault !== null) found.push(`${name} ${fault}`);
  }
  return found;
}

/** Paths relative to the directory, sorted by code unit as in Python; localeCompare would sort differently. */
async function modelFiles(directory: string): Promise<string[]> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  const names: string[] = [];
  for (const entry of entries) {
    if (!MODEL_FILES.has(extname(entry.name))) continue;
    const path = join(entry.parentPath, entry.name);
    // The cache of Hugging Face's hub is a directory of links. Python follows them, too.
    const isFile = entry.isSymbolicLink() ? ((await stat(path).catch(() => null))?.isFile() ?? false) : entry.isFile();
    if (isFile) names.push(path.slice(directory.length).replace(/^\/+/, ''));
  }
  return names.sort((a, b) => (a < b ? -1 : 1));
}

async function stampOf(path: string): Promise<FileStamp> {
  const { size, ino, mtimeNs, ctimeNs } = await stat(path, { bigint: true });
  return { size: Number(size), inode: String(ino), modified: String(mtimeNs), changed: String(ctimeNs) };
}

/** A weights file begins with the length of its header (8 bytes, little endian) and the header, which is JSON. */
async function weightsFault(path: string): Promise<string | null> {
  const { size } = await stat(path);
  const file = await open(path);
  try {
    const head = Buffer.alloc(8);
    if ((await file.read(head, 0, 8, 0)).bytesRead < 8) return `is truncated: it has ${size} bytes`;
    const length = Number(head.readBigUInt64LE());
    if (length > size - 8) return `is truncated or damaged: it has ${size} bytes, its header alone needs ${length + 8}`;
    const header = Buffer.alloc(length);
    await file.read(header, 0, length, 8);
    const tensors = JSON.parse(header.toString('utf8')) as Record<string, { data_offsets?: [number, number] }>;
    const end = Math.max(0, ...Object.values(tensors).map((tensor) => tensor.data_offsets?.[1] ?? 0));
    return size === 8 + length + end ? null : `has ${size} of ${8 + length + end} bytes`;
  } catch (error) {
    if (error instanceof SyntaxError) return 'has a damaged header';
    throw error;
  } finally {
    await file.close();
  }
}

async function jsonFileFault(path: string): Promise<string | null> {
  try {
    JSON.parse((await readWholeFile(path)).toString('utf8'));
    return null;
  } catch (error) {
    if (error instanceof SyntaxError) return `is not JSON (${jsonFault(error)})`;
    throw error;
  }
}
