import type { RedactionRule } from './config/analyst-spec';

/** A part of a text: from, and up to but without. */
type Span = readonly [start: number, end: number];

/** What a rule finds. */
interface Finder {
  /** For texts in which what was replaced is put back later: finds little that is something else. */
  pattern: RegExp;
  /** The parts of a match of `pattern` that are replaced. Absent: all of it. */
  spans?: (match: string) => Span[];
  /**
   * For texts in which nothing is put back: better a word too many than one too few. It finds what `pattern` finds,
   * too. Absent: `pattern`.
   */
  wide?: RegExp;
}

/**
 * The built-in rules, in the order in which they are applied: a card before the phone number that it would look like.
 * Clients choose the texts, so that no pattern may take longer than in proportion to a text's length: each begins again
 * only where little was read in vain. The wide ones repeat no counted part without a limit: V8 keeps its place in each,
 * and a body of 10 MB would leave it no room.
 */
export const REDACTION_FINDERS: Record<RedactionRule, Finder> = {
  key: {
    pattern: eitherOf(
      /\b(?:(?:sk|pk|rk)-[A-Za-z0-9_-]{16,}|(?:sk|pk|rk)_(?:live|test)_[A-Za-z0-9]{10,}|gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{20,}|AKIA[0-9A-Z]{16}|AIza[\w-]{30,}|xox[abpr]-[\w-]{10,})/,
      ...jwtAndPem(),
    ),
    wide: eitherOf(
      /(?<![A-Za-z0-9])(?:sk|pk|rk|gh[pousr]|github_pat|xox[a-z]|AKIA|ASIA|AIza|eyJ)[\w.-]{12}[\w.-]*/,
      ...jwtAndPem(),
    ),
  },
  email: {
    pattern: /(?<![\p{L}\p{N}._%+-])[\p{L}\p{N}._%+-]+@(?:[\p{L}\p{N}-]{1,63}\.){1,8}\p{L}{2,24}/gu,
    wide: /(?<![\p{L}\p{M}\p{N}._%+'-])[\p{L}\p{M}\p{N}._%+'-]+@(?:\[[\p{L}\p{N}.:-]{1,64}\]|[\p{L}\p{M}\p{N}_.:-]{0,254}[\p{L}\p{N}])/gu,
  },
  card: {
    pattern: /(?<!\d|\d\.)\d(?:[ -]?\d){12,}(?!\.?\d)/g,
    spans: cardNumbers,
    wide: /\d(?:[ \u00a0\u202f\u2010-\u2015.-]{0,2}\d){12,400}/g,
  },
  phone: {
    pattern:
      /(?<![\w.+-])(?:\+\d{1,3}[ .-]?)?(?:\(\d{1,4}\)[ .-]?)?\d{2,4}(?:[ .-]\d{2,8}){1,4}(?![\w-]|\.\d)|(?<![\w+])\+\d{8,15}(?!\w)/g,
    spans: (match) => (isPhoneNumber(match) ? [[0, match.length]] : []),
    wide: /\+?\(?\d(?:[ ()./-]{0,3}\d){6,400}/g,
  },
};

/** The text with what a rule finds replaced by what `replace` makes of it. */
export function replaceFound(
  text: string,
  { pattern, spans }: Pick<Finder, 'pattern' | 'spans'>,
  replace: (value: string) => string,
): string {
  return text.replace(pattern, (match) => {
    if (spans === undefined) return replace(match);
    let result = '';
    let end = 0;
    for (const [from, to] of spans(match)) {
      result += match.slice(end, from) + replace(match.slice(from, to));
      end = to;
    }
    return result + match.slice(end);
  });
}

function eitherOf(...patterns: RegExp[]): RegExp {
  return new RegExp(patterns.map(({ source }) => source).join('|'), 'g');
}

/**
 * A JWT is looked for once in a word, not at each `eyJ` of it; the lines of a key hold no five dashes, so that each
 * BEGIN reads at most up to the next.
 */
function jwtAndPem(): RegExp[] {
  return [
    /(?<![\w-])(?=[\w-]*?\beyJ[\w-]{10})[\w-]+\.[\w-]{10}[\w-]*\.[\w-]{10}[\w-]*/,
    /-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----(?:(?!-----)[\s\S]){0,20000}?-----END [A-Z ]{0,40}PRIVATE KEY-----/,
  ];
}

/** Cards as their issuers number them: Visa, Mastercard, American Express, Diners Club, Discover, JCB, UnionPay. */
const ISSUED =
  /^(?:4(?:\d{15}|\d{18})|5[1-5]\d{14}|2[2-7]\d{14}|3[47]\d{13}|3(?:0[0-5]|[689]\d)\d{11}|6(?:011|4[4-9]\d|5\d\d)\d{12}|35\d{14}|62\d{14,17})$/;

/**
 * Card numbers in digits that stand apart by a blank or a dash at most. Neighbours such as a date, a check code or an
 * order's number are digits, too, so that every row of whole groups is tried; in a group that is longer than its card,
 * only what an issuer would have numbered so: of all ways to cut any number, every second number has one with a right
 * check digit.
 */
function cardNumbers(match: string): Span[] {
  const groups = [...match.matchAll(/\d+/g)].map(({ 0: digits, index }) => ({
    digits,
    start: index,
    end: index + digits.length,
  }));
  const found: Span[] = [];
  for (let first = 0; first < groups.length;) {
    const last = lastOfCard(groups, first);
    const { digits, start } = groups[first]!;
    if (last !== null) found.push([start, groups[last]!.end]);
    else found.push(...cutFrom(digits).map(([from, to]): Span => [start + from, start + to]));
    first = (last ?? first) + 1;
  }
  return found;
}

/**
 * Index of the group with which a card ends that begins with the group `first`; the longest one. Cards are written in
 * groups of three and more.
 */
function lastOfCard(groups: readonly { digits: string }[], first: number): number | null {
  let digits = '';
  let last: number | null = null;
  for (let i = first; i < groups.length && digits.length < 19 && groups[i]!.digits.length >= 3; i++) {
    digits += groups[i]!.digits;
    if (isCardNumber(digits)) last = i;
  }
  return last;
}

/** The longest card with which a group begins or ends. */
function cutFrom(digits: string): Span[] {
  for (let length = Math.min(19, digits.length); length >= 13; length--) {
    for (const from of [0, digits.length - length]) {
      const cut = digits.slice(from, from + length);
      if (ISSUED.test(cut) && isCardNumber(cut)) return [[from, from + length]];
    }
  }
  return [];
}

/** 13 to 19 digits, not all the same, with a valid check digit (Luhn, ISO/IEC 7812-1). */
function isCardNumber(digits: string): boolean {
  if (digits.length < 13 || digits.length > 19) return false;
  let sum = 0;
  for (let i = digits.length - 1, double = false; i >= 0; i--, double = !double) {
    const digit = Number(digits[i]) * (double ? 2 : 1);
    sum += digit > 9 ? digit - 9 : digit;
  }
  return sum % 10 === 0 && !/^(.)\1*$/.test(digits);
}

/** 7 to 15 digits (E.164), and not a date, a row of years or a decimal number: those look alike. */
function isPhoneNumber(text: string): boolean {
  const digits = text.replace(/\D/g, '');
  if (digits.length < 7 || digits.length > 15) return false;
  return !/^\d{4}[-. ]\d{2}[-. ]\d{2}(?:[-. ]\d{2,4})*$|^\d{2}[-. ]\d{2}[-. ]\d{4}$|^(?:(?:19|20)\d\d[-. ])+(?:19|20)\d\d$|^\d+\.\d+$/.test(
    text,
  );
}
