export {
  type ArtifactStore,
  getJson,
  getLines,
  putJson,
  putLines,
  readSegment,
  type Segment,
  type StoredDocument,
  type StoredFile,
} from './artifact-store';
export { changeDocument } from './change-document';
export { DamagedLines } from './damaged-lines';
export { changeDictionary, readDictionary } from './dictionary';
export { isStoreError, StoreConflictError, StoreCorruptError, StoreKeyError } from './errors';
export { diskError } from './file-errors';
export { makeFolder, makePrivateFolder } from './folders';
export {
  type IngestedFile,
  ingestedConversations,
  ingestedOutcomes,
  type IngestedTraces,
  readIngested,
} from './ingested-traces';
export { layout } from './layout';
export { LineFile, RecentCache } from './line-file';
export { collectedTraces, type LiveTraces, readTraces, type TraceQuery } from './live-traces';
export { LocalStore } from './local-store';
export { isMissing, orIfMissing, piecesOf, readIfExists, readWholeFile } from './read-files';
export { splitLines } from './split-lines';
export {
  activateVersion,
  addVersion,
  changeRegistry,
  emptyRegistry,
  endCanary,
  pruneVersions,
  readRegistry,
  RegistryError,
  rollbackVersion,
  startCanary,
  type Transition,
} from './registry';
export { changeNights, readNights } from './nights';
export { createFile, replaceFile } from './whole-files';
export { type StoredLines, storedLines } from './stored-lines';
