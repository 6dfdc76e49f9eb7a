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
export { refusalOfOneQuestion } from './errors';
export { strictJsonSchema } from './json-schema';
export { createAnalyst } from './openai-analyst';
export type { ChangeRateState } from './rate/rate-state';
