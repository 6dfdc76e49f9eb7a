/** An artifact's bytes do not match its reference. */
export class StoreCorruptError extends Error {
  readonly type = 'Store.Corrupt';
}

/** A document was changed by somebody else since it was read. */
export class StoreConflictError extends Error {
  readonly type = 'Promote.Conflict';
}
