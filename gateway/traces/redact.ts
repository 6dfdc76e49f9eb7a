import type { ChatMessage, TraceSettings } from '../../contracts';

/** What each kind of text looks like. Better a word too many than one too few: this is what may be kept. */
const KINDS: Record<TraceSettings['redact'][number], RegExp> = {
  email: /[\w.+-]+@[\w-]+(?:\.[\w-]+)+/g,
  card: /\b(?:\d[ -]?){12,18}\d\b/g,
  phone: /(?<![\w-])\+?\d[\d ().-]{7,}\d(?!\w)/g,
  key: /\b(?:sk|pk|ghp|gho|xox[abp]|AKIA|eyJ)[\w.-]{12,}/g,
};

/** Changes a message before anything of it is kept. */
export type Redaction = (message: ChatMessage) => ChatMessage;

/** The redaction that settings ask for. Cards go before phones, which would swallow half of them. */
export function createRedaction({ redact, redactPatterns }: TraceSettings): Redaction {
  const rules: [RegExp, string][] = [
    ...(['key', 'email', 'card', 'phone'] as const).filter((kind) => redact.includes(kind)).map((kind): [RegExp, string] => [KINDS[kind], `[${kind}]`]),
    ...redactPatterns.map((pattern): [RegExp, string] => [new RegExp(pattern, 'g'), '[redacted]']),
  ];
  if (rules.length === 0) return (message) => message;
  const clean = (text: string): string => rules.reduce((now, [pattern, word]) => now.replace(pattern, word), text);
  return (message) => ({
    ...message,
    content: message.content === null ? null : clean(message.content),
    ...(message.tool_calls && {
      tool_calls: message.tool_calls.map((call) => ({ ...call, function: { ...call.function, arguments: clean(call.function.arguments) } })),
    }),
  });
}
