/** The content under a key is damaged: its bytes differ from those that were written. */
export class StoreCorruptError extends Error {
  readonly type = 'Store.Corrupt';
}

/** An artifact that a reference names is not in the store. */
class StoreMissingError extends Error {
  readonly type = 'Store.Missing';
}

/** Another writer changed the document after it was read. */
export class StoreConflictError extends Error {
  readonly type = 'Promote.Conflict';
}

/** The disk of the store is full. */
export class StoreFullError extends Error {
  readonly type = 'Store.Full';
}

/** The disk of the store cannot be read or written, for a reason other than a full disk. */
export class StoreUnavailableError extends Error {
  readonly type = 'Store.Unavailable';
}

/** An error of the store that has a type in the catalogue of failures. */
export type StoreError =
  StoreCorruptError | StoreMissingError | StoreConflictError | StoreFullError | StoreUnavailableError;

/** Whether an error is one of the store's own errors. */
export const isStoreError = (error: unknown): error is StoreError =>
  error instanceof StoreCorruptError ||
  error instanceof StoreMissingError ||
  error instanceof StoreConflictError ||
  error instanceof StoreFullError ||
  error instanceof StoreUnavailableError;

/** The error of a damaged or missing artifact, with the remedy. `what` is the end of a sentence about the artifact. */
export function artifactError(kind: 'corrupt' | 'missing', key: string, what: string): Error {
  const run = /^runs\/([^/]+)\//.exec(key)?.[1];
  const remedy =
    run === undefined
      ? 'Restore it from a backup; whet repair RUN makes what belongs to a run again.'
      : `whet repair ${run} makes its stage again.`;
  const StoreError = kind === 'corrupt' ? StoreCorruptError : StoreMissingError;
  return new StoreError(`Artifact ${key} ${what}. ${remedy}`);
}

/** A key does not lead to a place in the store, because one of its names is invalid. */
export class StoreKeyError extends RangeError {
  constructor(readonly key: string) {
    super(`Store key ${JSON.stringify(key)} leaves the store.`);
    this.name = 'StoreKeyError';
  }
}
