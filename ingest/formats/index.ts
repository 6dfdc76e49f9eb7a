import type { Format } from '../format';
import { anthropic } from './anthropic';
import { atif } from './atif';
import { gateway } from './gateway';
import { langfuse } from './langfuse';
import { langsmith } from './langsmith';
import { openai } from './openai';
import { otlp } from './otlp';
import { tau2 } from './tau2';
import { verifiers } from './verifiers';

/** All formats. Of several that detect a record the first reads it, so the ones with rarer members come first. */
export const FORMATS: readonly Format[] = [
  otlp,
  tau2,
  verifiers,
  atif,
  gateway,
  langfuse,
  langsmith,
  anthropic,
  openai,
];
