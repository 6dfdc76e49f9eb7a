import type { ChatMessage } from '../../contracts/artifacts/trajectory';
import type { RedactionRule } from '../../contracts/config/analyst-spec';
import type { TraceSettings } from '../../contracts/config/gateway-config';
import { REDACTION_FINDERS } from '../../contracts/redaction-rules';

/** Changes a message before anything of it is kept. */
export type Redaction = (message: ChatMessage) => ChatMessage;

/**
 * The redaction that settings ask for, own patterns first. Unlike the analyst's, it does not keep what two equal values
 * have in common: nothing is put back here, so that the rules may find more than they are sure of.
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
  return (message) => ({
    ...message,
    content: message.content === null ? null : clean(message.content),
    ...(message.tool_calls && {
      tool_calls: message.tool_calls.map((call) => ({
        ...call,
        function: { ...call.function, arguments: clean(call.function.arguments) },
      })),
    }),
  });
}
