import { createHmac } from 'node:crypto';
import type { RedactionRule, RedactionSpec } from '../contracts/config/analyst-spec';
import { REDACTION_FINDERS, replaceFound } from '../contracts/redaction-rules';
import { isLoopback } from './loopback';

/** The values that were replaced in the texts of one call, by placeholder. They never leave the process. */
export class Replacements {
  private readonly values = new Map<string, string>();
  /** Number of replacements, by rule. */
  readonly counts: Record<string, number> = {};

  note(rule: string, placeholder: string, value: string): void {
    this.values.set(placeholder, value);
    this.counts[rule] = (this.counts[rule] ?? 0) + 1;
  }

  /** Returns the answer, which is JSON, with the values put back into all its strings. */
  restore<T>(answer: T): T {
    if (this.values.size === 0) return answer;
    const restored = (text: string): string =>
      text.replace(/\[[a-z][a-z0-9-]*:[0-9a-f]{10}\]/g, (placeholder) => this.values.get(placeholder) ?? placeholder);
    return JSON.parse(JSON.stringify(answer), (_, value: unknown) =>
      typeof value === 'string' ? restored(value) : value,
    ) as T;
  }
}

/**
 * Replaces sensitive values by `[rule:hash]` before a text is sent. A secret of this store keys the hash. So the same
 * value gets the same placeholder in every call, and nobody without the secret can find the value by guessing.
 * `Replacements.restore` puts the values back into an answer.
 */
export class Redactor {
  private readonly rules: ({ name: string } & Parameters<typeof replaceFound>[1])[];

  constructor(
    { rules, patterns }: Pick<RedactionSpec, 'rules' | 'patterns'>,
    private readonly secret: string,
  ) {
    const own = patterns.map(({ name, pattern }) => ({ name, pattern: new RegExp(pattern, 'gu') }));
    const builtIn = (Object.keys(REDACTION_FINDERS) as RedactionRule[])
      .filter((rule) => rules.includes(rule))
      .map((name) => ({ name, ...REDACTION_FINDERS[name] }));
    this.rules = [...own, ...builtIn];
  }

  /** Returns the text with every match of a rule replaced, and records the replacements. */
  redact(text: string, replacements: Replacements): string {
    let result = text;
    for (const { name, ...finder } of this.rules) {
      result = replaceFound(result, finder, (value) => {
        const hash = createHmac('sha256', this.secret).update(`${name}:${value}`).digest('hex');
        const placeholder = `[${name}:${hash.slice(0, 10)}]`;
        replacements.note(name, placeholder, value);
        return placeholder;
      });
    }
    return result;
  }
}

/** Whether texts for this endpoint are redacted: `remote` exempts endpoints on this machine. */
export function redactsFor({ when }: Pick<RedactionSpec, 'when'>, baseUrl: string): boolean {
  return when === 'always' || (when === 'remote' && !isLoopback(baseUrl));
}
