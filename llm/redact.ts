import { createHmac } from 'node:crypto';
import type { RedactionRule, RedactionSpec } from '../contracts';

/** Built-in rules in the order in which they are applied. A candidate that `accept` refuses stays as it is. */
const RULES: Record<RedactionRule, { pattern: RegExp; accept?: (text: string) => boolean }> = {
  key: {
    pattern:
      /\b(?:(?:sk|pk|rk)-[A-Za-z0-9_-]{16,}|(?:sk|pk|rk)_(?:live|test)_[A-Za-z0-9]{10,}|gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{20,}|AKIA[0-9A-Z]{16}|AIza[\w-]{30,}|xox[abpr]-[\w-]{10,}|eyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]{10,})|-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?-----END [A-Z ]*PRIVATE KEY-----/g,
  },
  email: { pattern: /[\p{L}\p{N}._%+-]{1,64}@(?:[\p{L}\p{N}-]{1,63}\.){1,8}\p{L}{2,24}/gu },
  card: { pattern: /(?<![\d.-])\d(?:[ -]?\d){12,18}(?![\d.-]*\d)/g, accept: isCardNumber },
  phone: {
    pattern: /(?<![\w.+-])(?:\+\d{1,3}[ .-]?)?(?:\(\d{1,4}\)[ .-]?)?\d{2,4}(?:[ .-]\d{2,8}){1,4}(?![\w-]|\.\d)|(?<![\w+])\+\d{8,15}(?!\w)/g,
    accept: isPhoneNumber,
  },
};

/** What was replaced in the texts of one call: placeholder to value. It never leaves the process. */
export class Replacements {
  private readonly values = new Map<string, string>();
  /** Places where something was replaced, by rule. */
  readonly counts: Record<string, number> = {};

  note(rule: string, placeholder: string, value: string): void {
    this.values.set(placeholder, value);
    this.counts[rule] = (this.counts[rule] ?? 0) + 1;
  }

  /** The answer with the values put back, in every string of it. */
  restore<T>(answer: T): T {
    if (this.values.size === 0) return answer;
    if (typeof answer === 'string')
      return answer.replace(/\[[a-z][a-z0-9-]*:[0-9a-f]{10}\]/g, (placeholder) => this.values.get(placeholder) ?? placeholder) as T;
    if (Array.isArray(answer)) return answer.map((item: unknown) => this.restore(item)) as T;
    if (typeof answer !== 'object' || answer === null) return answer;
    return Object.fromEntries(Object.entries(answer).map(([name, value]) => [name, this.restore(value as unknown)])) as T;
  }
}

/**
 * Replaces what must not leave by `[rule:hash]`. The hash is keyed with a secret of this store: the same value gets the same placeholder in
 * every call, and nobody without the secret can find the value by trying. Answers get their values back on this side.
 */
export class Redactor {
  private readonly rules: { name: string; pattern: RegExp; accept?: ((text: string) => boolean) | undefined }[];

  constructor(
    { rules, patterns }: Pick<RedactionSpec, 'rules' | 'patterns'>,
    private readonly secret: string,
  ) {
    const own = patterns.map(({ name, pattern }) => ({ name, pattern: new RegExp(pattern, 'gu') }));
    const builtIn = (Object.keys(RULES) as RedactionRule[]).filter((rule) => rules.includes(rule)).map((name) => ({ name, ...RULES[name] }));
    this.rules = [...own, ...builtIn];
  }

  /** The text without what the rules match; what was replaced is noted. */
  redact(text: string, replacements: Replacements): string {
    let result = text;
    for (const { name, pattern, accept } of this.rules) {
      result = result.replace(pattern, (value: string) => {
        if (accept && !accept(value)) return value;
        const placeholder = `[${name}:${createHmac('sha256', this.secret).update(`${name}:${value}`).digest('hex').slice(0, 10)}]`;
        replacements.note(name, placeholder, value);
        return placeholder;
      });
    }
    return result;
  }
}

const LOOPBACK = /^(localhost|127(\.\d+){3}|\[::1\])$/;

/** Whether texts for this endpoint are redacted: `remote` spares endpoints on this machine. */
export function redactsFor({ when }: Pick<RedactionSpec, 'when'>, baseUrl: string): boolean {
  return when === 'always' || (when === 'remote' && !LOOPBACK.test(new URL(baseUrl).hostname));
}

/** 13 to 19 digits with a valid check digit (Luhn, ISO/IEC 7812-1). */
function isCardNumber(text: string): boolean {
  const digits = [...text.replace(/\D/g, '')].reverse().map(Number);
  if (digits.length < 13 || digits.length > 19 || digits.every((digit) => digit === digits[0])) return false;
  const sum = digits.reduce((total, digit, i) => total + (i % 2 === 0 ? digit : digit > 4 ? digit * 2 - 9 : digit * 2), 0);
  return sum % 10 === 0;
}

/** 7 to 15 digits (E.164), and not a date, a row of years or a decimal number: those look alike. */
function isPhoneNumber(text: string): boolean {
  const digits = text.replace(/\D/g, '');
  if (digits.length < 7 || digits.length > 15) return false;
  return !/^\d{4}[-. ]\d{2}[-. ]\d{2}(?:[-. ]\d{2,4})*$|^\d{2}[-. ]\d{2}[-. ]\d{4}$|^(?:(?:19|20)\d\d[-. ])+(?:19|20)\d\d$|^\d+\.\d+$/.test(text);
}
