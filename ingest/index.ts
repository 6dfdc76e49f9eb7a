export { type FormatCounts, type LeftOutFor } from './counts';
export { forget } from './forget';
export { ingest, type IngestResult } from './ingest';
export { parsePassRule } from './outcomes/outcome-value';
