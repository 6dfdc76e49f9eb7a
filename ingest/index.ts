export { type FormatCounts, type LeftOutFor } from './counts';
export { forget } from './forget';
export { ingest, type IngestResult } from './ingest';
export { InputFault } from './input/pieces';
export { parsePassRule } from './outcomes/outcome-value';
