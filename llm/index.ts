export {
  type Analyst,
  type AnalystAnswer,
  type AnalystMessage,
  type AnalystOptions,
  type AnalystRequest,
  type AnalystUsage,
  type BatchAnswer,
  type CallLedger,
  type MalformedDetail,
} from './analyst';
export { type AnalystFactory, createAnalystPool } from './analyst-pool';
export type { BatchOptions } from './batch';
export { contentKey } from './content-key';
export { strictJsonSchema } from './json-schema';
export { createAnalyst } from './openai-analyst';
export type { SharedRateState } from './rate/shared-rate-state';
export { refusalOfOneQuestion } from './refusal';
