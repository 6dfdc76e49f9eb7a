/** The bytes of an artifact do not match its reference. */
export class StoreCorruptError extends Error {
  readonly type = 'Store.Corrupt';
}

/** Somebody else changed the document since it was read. */
export class StoreConflictError extends Error {
  readonly type = 'Promote.Conflict';
}
