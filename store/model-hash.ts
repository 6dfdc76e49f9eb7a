import { createHash } from 'node:crypto';
import { open, readdir, stat } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { jsonFault } from '../contracts/json-fault';
import { fileSha256, readWholeFile } from './read-files';

/** File extensions of what belongs to a model or adapter: configuration, tokenizer, weights. */
const MODEL_FILES = new Set(['.json', '.safetensors', '.jinja', '.txt', '.model']);

/** The identity of a file's content, found without reading it. A new content changes at least `changed`. */
export interface FileStamp {
  size: number;
  inode: string;
  /** Time of the last change of content, nanoseconds. */
  modified: string;
  /** Time of the last change of the file's entry, nanoseconds. Unlike `modified` it cannot be set. */
  changed: string;
}

/** Remembers hashes of large files, so that the same file is read once. */
export interface FileHashes {
  /** The sha256 of the file if its stamp is still the same; else undefined. */
  find(path: string, stamp: FileStamp): Promise<string | undefined>;
  /** Remembers a hash. Called after each file, so that an interrupted hashing continues behind it. */
  keep(path: string, stamp: FileStamp, sha256: string): Promise<void>;
}

/** How a directory is hashed. */
export interface HashOptions {
  hashes?: FileHashes;
  /** Called with the bytes hashed so far (remembered files count) and the bytes of all files. */
  onProgress?: (done: number, total: number) => void;
  signal?: AbortSignal;
}

/**
 * Hash of a model's or adapter's directory, equal to the trainer's (`whetstone.tree_hash`): sha256 over `name NUL
 * sha256-hex LF` of each of its files, sorted by name. Rejects when the directory cannot be read, and with the signal's
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

/** A file of a model with its size and, where it is small, its hash. */
export interface ModelFile {
  name: string;
  bytes: number;
  sha256: string | null;
}

/**
 * Lists the files of a model's directory. Only files of at most `hashedBytes` are read for their hash, so that it takes
 * no time however large the model is. Rejects when the directory cannot be read.
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
 * Names the damage of each file of a model or adapter directory that can be seen without knowing its content: a missing
 * file of weights, a truncated one, JSON that cannot be read. Empty when nothing can be seen.
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

/** Paths relative to the directory, sorted by code unit as Python sorts; localeCompare would not. */
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

/** A file of weights begins with the length of its header (8 bytes, little endian) and the header, which is JSON. */
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
