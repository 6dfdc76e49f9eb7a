import type { Format } from '../format';
import { anthropic } from './anthropic';
import { langfuse } from './langfuse';
import { langsmith } from './langsmith';
import { openai } from './openai';
import { otlp } from './otlp';

/** All formats. Of several that detect a record the first reads it, so the ones with rarer members come first. */
export const FORMATS: readonly Format[] = [otlp, langfuse, langsmith, anthropic, openai];
