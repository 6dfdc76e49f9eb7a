import { ApplicationFailure } from '@temporalio/common';
import type { MalformedDetail, Refusal } from './analyst';
import { refusesPromptOnly } from './errors';

/**
 * Reads an error that concerns only this question: no valid answer after all re-asks, or a prompt that the endpoint
 * does not accept. Null for every other error.
 */
export function refusalOfOneQuestion(error: unknown): Refusal | null {
  if (!(error instanceof ApplicationFailure)) return null;
  if (error.type === 'Analyst.Malformed') {
    const detail = error.details?.[0] as MalformedDetail;
    const { usage, asks, tries, redacted } = detail;
    return { reason: `No valid answer: ${detail.problems}`, usage, asks, tries, redacted };
  }
  const nothing = { promptTokens: 0, completionTokens: 0, cachedTokens: 0 };
  if (refusesPromptOnly(error)) return { reason: error.message, usage: nothing, asks: 1, tries: 1, redacted: {} };
  return null;
}
