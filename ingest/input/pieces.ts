import { pipeline, Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { piecesOf } from '../../store';

/** A .gz file that grows more than this is refused, once it has grown to `SUSPECT_BYTES`. Traces shrink to a tenth. */
const MOST_GROWTH = 300;
const SUSPECT_BYTES = 512 * 2 ** 20;

/** A file whose content cannot be read, or can no longer. */
export class InputFault extends Error {}

/**
 * The bytes of a file; of a .gz file what was packed, whatever its name.
 * @throws InputFault for a damaged .gz file, after what could be read of it; StoreCorruptError for a pipe or a device;
 *   the errors of the file system.
 */
export async function* inputPieces(path: string): AsyncGenerator<Buffer> {
  const pieces = (await piecesOf(path))[Symbol.asyncIterator]();
  const first = await pieces.next();
  if (first.done) return;
  let packed = first.value.length;
  async function* all() {
    try {
      yield first.value as Buffer;
      for (let next = await pieces.next(); !next.done; next = await pieces.next()) {
        packed += next.value.length;
        yield next.value;
      }
    } finally {
      await pieces.return?.();
    }
  }
  if (first.value[0] !== 0x1f || first.value[1] !== 0x8b) return yield* all();
  let unpacked = 0;
  const gunzip = createGunzip({ chunkSize: 1 << 18 });
  pipeline(Readable.from(all()), gunzip, () => undefined);
  try {
    for await (const piece of gunzip as AsyncIterable<Buffer>) {
      unpacked += piece.length;
      if (unpacked > SUSPECT_BYTES && unpacked > packed * MOST_GROWTH)
        throw new InputFault(`the .gz file grows more than ${MOST_GROWTH} times: unpack it, if it is yours`);
      yield piece;
    }
  } catch (error) {
    if (
      typeof (error as NodeJS.ErrnoException).errno === 'number' &&
      /^Z_/.test((error as { code?: string }).code ?? '')
    )
      throw new InputFault(`the .gz file is damaged after ${unpacked} bytes of its content`);
    throw error;
  }
}
