import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';

/** Largest source of an environment or recipe that is read, in bytes. */
export const LARGEST_SOURCE_BYTES = 1_000_000;
/** Bytes read at a time. */
const PIECE = 65_536;

/** A path does not lead to a readable file. The message is a clause about the path: 'is not a file.' */
export class UnreadableFileError extends Error {
  constructor(
    message: string,
    readonly isMissing = false,
    /** The system's error, if the cause is not the file itself. */
    override readonly cause?: Error,
  ) {
    super(message);
    this.name = 'UnreadableFileError';
  }

  /** The message as a sentence about the file. */
  get sentence(): string {
    return this.message.replace(/^(is|has|cannot) /, 'it $1 ');
  }
}

/** A file is larger than its reader takes. */
export class TooLargeFileError extends UnreadableFileError {}

/**
 * Reads a file that a user named. Reading a FIFO would block, and reading a device would never end. Some files of /proc
 * and /sys look like empty files and do one of the two. So the path is opened without blocking, and reading ends after
 * `largest` bytes. The store's `readWholeFile` reads the service's own files. Throws UnreadableFileError.
 */
export function readBounded(file: string, largest: number): Buffer {
  return readFrom(file, (descriptor, size) => readOpen(descriptor, largest, size));
}

/**
 * Reads at most the last `most` bytes of a file, which may grow meanwhile. The path may lead to the same special files
 * as for `readBounded`. Throws UnreadableFileError.
 */
export function readEnd(file: string, most: number): Buffer {
  return readFrom(file, (descriptor, size) => {
    const end = Buffer.alloc(Math.min(size, most));
    return end.subarray(0, readSync(descriptor, end, 0, end.length, size - end.length));
  });
}

function readFrom(file: string, read: (descriptor: number, size: number) => Buffer): Buffer {
  try {
    const descriptor = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY);
    try {
      const found = fstatSync(descriptor);
      if (!found.isFile()) throw new UnreadableFileError('is not a file.');
      return read(descriptor, found.size);
    } finally {
      closeSync(descriptor);
    }
  } catch (error) {
    if (error instanceof UnreadableFileError) throw error;
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') throw new UnreadableFileError('there is no such file.', true);
    if (code === 'EAGAIN') throw new UnreadableFileError('has no content of its own: reading it waits for something.');
    if (code === 'ERR_INVALID_ARG_VALUE') throw new UnreadableFileError('has a NUL character in its name.');
    // The path is a FIFO or socket without another end.
    if (code === 'ENXIO') throw new UnreadableFileError('is not a file.');
    throw new UnreadableFileError(`cannot be read: ${message}.`, false, error as Error);
  }
}

function readOpen(descriptor: number, largest: number, told: number): Buffer {
  if (told > largest) throw new TooLargeFileError(`has ${told} bytes, and at most ${largest} are read.`);
  const pieces: Buffer[] = [];
  let size = 0;
  for (;;) {
    const piece = Buffer.allocUnsafe(PIECE);
    const read = readSync(descriptor, piece, 0, PIECE, null);
    if (read === 0) return Buffer.concat(pieces, size);
    size += read;
    if (size > largest) throw new TooLargeFileError(`is larger than ${largest} bytes.`);
    pieces.push(piece.subarray(0, read));
  }
}
