import { type ChatMessage, withTexts } from '../../contracts/artifacts/trajectory';
import type { RedactionRule } from '../../contracts/config/analyst-spec';
import type { TraceSettings } from '../../contracts/config/gateway-config';
import { REDACTION_FINDERS } from '../../contracts/redaction-rules';

/** Replaces personal data in a message. */
export type Redaction = (message: ChatMessage) => ChatMessage;

/**
 * The redaction that the settings ask for. Their own patterns are applied first. Unlike the analyst's redaction, it
 * cannot be reversed and gives equal values no common name. So its rules also replace text that only may be personal
 * data.
 * Throws SyntaxError for an invalid pattern.
 */
export function createRedaction({ redact, redactPatterns }: TraceSettings): Redaction {
  const builtIn = (Object.keys(REDACTION_FINDERS) as RedactionRule[]).filter((rule) => redact.includes(rule));
  const rules = [
    ...redactPatterns.map((pattern) => ({ pattern: new RegExp(pattern, 'g'), word: '[redacted]' })),
    ...builtIn.map((rule) => ({
      pattern: REDACTION_FINDERS[rule].wide ?? REDACTION_FINDERS[rule].pattern,
      word: `[${rule}]`,
    })),
  ];
  if (rules.length === 0) return (message) => message;
  const clean = (text: string): string => rules.reduce((now, { pattern, word }) => now.replace(pattern, word), text);
  return (message) => withTexts(message, clean);
}
