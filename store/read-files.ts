import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { StoreCorruptError } from './errors';

/** Whether an error of the file system means that there is no such file or folder. */
export const isMissing = (error: unknown): boolean => (error as NodeJS.ErrnoException).code === 'ENOENT';

/** The result of a file operation, or `otherwise` if there is no such file or folder. Rejects with any other error. */
export async function orIfMissing<T, U>(result: Promise<T>, otherwise: U): Promise<T | U> {
  try {
    return await result;
  } catch (error) {
    if (isMissing(error)) return otherwise;
    throw error;
  }
}

/** Largest document that is read, in bytes. Registries have a few KB, reports some MB. */
const LARGEST_DOCUMENT_BYTES = 256 * 2 ** 20;
/** Number of bytes read at a time if a file is longer than its stated size. */
const PIECE = 65_536;

/**
 * Opens a file for reading. Pipes and devices are refused: opening a pipe would block, and reading a device would never
 * end and use up the memory. Rejects with StoreCorruptError, or with the error of the file system.
 */
export async function openFile(path: string): Promise<FileHandle> {
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY);
  try {
    const found = await file.stat();
    // A directory is allowed here, because the file system's error for reading it says more.
    if (found.isFile() || found.isDirectory()) return file;
    throw new StoreCorruptError(`${path} is a pipe, a device or a socket, not a file. Move it away.`);
  } catch (error) {
    await file.close();
    throw error;
  }
}

/** The bytes of a file from `start` to `end`, piece by piece. Rejects as `openFile`. */
export async function piecesOf(path: string, start = 0, end = Infinity): Promise<AsyncIterable<Buffer>> {
  return (await openFile(path)).createReadStream({ start, end: end - 1, highWaterMark: 1 << 20 });
}

/**
 * sha256 of a file. Rejects like `openFile`, and with the error of `onRead`.
 * @param onRead called after each piece with the number of bytes read so far.
 */
export async function fileSha256(path: string, onRead?: (bytes: number) => void): Promise<string> {
  const hash = createHash('sha256');
  let bytes = 0;
  for await (const piece of await piecesOf(path)) {
    hash.update(piece);
    onRead?.((bytes += piece.length));
  }
  return hash.digest('hex');
}

/**
 * Reads a whole file of at most `largest` bytes. Rejects like `openFile`, and with StoreCorruptError for a larger file,
 * because no program writes a document of that size.
 */
export async function readWholeFile(path: string, largest = LARGEST_DOCUMENT_BYTES): Promise<Buffer> {
  const file = await openFile(path);
  try {
    const { size } = await file.stat();
    if (size > largest) throw tooLarge(path, largest);
    const pieces: Buffer[] = [];
    let length = 0;
    for (;;) {
      // Some files of /proc state a size of 0.
      const piece = Buffer.allocUnsafe(length < size ? size - length : PIECE);
      const { bytesRead } = await file.read(piece, 0, piece.length);
      if (bytesRead === 0) return pieces.length === 1 ? (pieces[0] as Buffer) : Buffer.concat(pieces, length);
      length += bytesRead;
      if (length > largest) throw tooLarge(path, largest);
      pieces.push(piece.subarray(0, bytesRead));
    }
  } catch (error) {
    // Unlike an error of opening, the system's error of reading does not name the file.
    if ((error as NodeJS.ErrnoException).syscall === 'read') (error as NodeJS.ErrnoException).path ??= path;
    throw error;
  } finally {
    await file.close();
  }
}

const tooLarge = (path: string, largest: number) =>
  new StoreCorruptError(
    `${path} is larger than ${largest} bytes, which no file of its kind is. Move it away, or restore it from a backup.`,
  );

/** Reads a file as UTF-8 text; null if there is none. Rejects as `readWholeFile`. */
export const readIfExists = async (path: string): Promise<string | null> =>
  (await orIfMissing(readWholeFile(path), null))?.toString('utf8') ?? null;
