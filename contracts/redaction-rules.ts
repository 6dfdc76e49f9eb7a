import type { RedactionRule } from './config/analyst-spec';

/** A part of a text: start, and end (exclusive). */
type Span = readonly [start: number, end: number];

/** The matches of a rule. */
interface Finder {
  /** For texts whose replaced parts are restored later: it has few false matches. */
  pattern: RegExp;
  /** The parts of a match of `pattern` that are replaced. Absent: all of it. */
  spans?: (match: string) => Span[];
  /**
   * For texts that are never restored: a false match is better than a missed one. It also matches everything that
   * `pattern` matches. Absent: `pattern`.
   */
  wide?: RegExp;
}

/** Digits as they are written in most scripts on the web: plain, full-width, Arabic and Persian. */
const DIGIT = String.raw`0-9\uff10-\uff19\u0660-\u0669\u06f0-\u06f9`;
/** Spaces of any width within a line, dashes, and the minus sign. */
const SPACE_OR_DASH = String.raw`\p{Zs}\p{Pd}\u2212`;
/** What may be between two digits of a number where a false match is better than a missed one. */
const GAP = String.raw`\s\p{Pd}\p{Cf}\p{M}\u2212.\uff0e·•_`;
/** A part of an address. The full stop has full-width forms. */
const HOST = String.raw`\p{L}\p{M}\p{N}_.:\uff0e\u3002\uff61-`;

/** What names secrets in headers, settings, members of JSON and addresses. */
const SECRET_NAMES =
  'bearer|secret|token|password|passwd|passphrase|signature|sig|api[ _-]?key|access[ _-]?key|account[ _-]?key';

/**
 * The built-in rules in their order of application: cards come before phone numbers, because the two look alike.
 * Clients choose the texts, so every pattern must run in linear time: each failed match reads only a few characters.
 * The wide patterns limit every counted repetition. V8 stores a position for each, and would run out of memory at a
 * body of 10 MB.
 */
export const REDACTION_FINDERS: Record<RedactionRule, Finder> = {
  key: {
    pattern: eitherOf(
      /\b(?:(?:sk|pk|rk)-[A-Za-z0-9_-]{16,}|(?:sk|pk|rk)_(?:live|test)_[A-Za-z0-9]{10,}|gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{20,}|A(?:K|S)IA[0-9A-Z]{16}|AIza[\w-]{30,}|xox[abpr]-[\w-]{10,})/,
      /\b(?:hf|gsk|npm|dckr_pat|r8)_[A-Za-z0-9-]{20,}|\b(?:glpat|nvapi|xai|pypi)-[\w-]{20,}|\b(?:hv[sb]|SG|ya29)\.[\w.-]{20,}/,
      ...namedSecrets(16),
      ...jwtAndPem(),
    ),
    wide: eitherOf(
      /(?<![A-Za-z0-9])(?:sk|pk|rk|gh[pousr]|github_pat|glpat|nvapi|hf|gsk|xai|npm|pypi|dckr_pat|r8|hvs|hvb|SG|ya29|shp[a-z]{2}|whsec|xox[a-z]|xapp|AKIA|ASIA|AIza|eyJ)[\w.-]{12}[\w.-]*/,
      ...namedSecrets(6),
      /(?<=\b(?:[Bb]asic|BASIC)[ \t]{1,4})[\w+/-]{8}[\w+/-]*={0,2}/,
      ...randomTokens(),
      ...jwtAndPem(),
    ),
  },
  email: {
    pattern:
      /(?<![\p{L}\p{N}._%+-])[\p{L}\p{N}._%+-]+[@\uff20\ufe6b](?:[\p{L}\p{N}-]{1,63}[.\uff0e]){1,8}\p{L}{2,24}/gu,
    wide: new RegExp(
      String.raw`(?<![\p{L}\p{M}\p{N}._%+'-])[\p{L}\p{M}\p{N}._%+'-]+(?:[@\uff20\ufe6b]|%40|&#64;|\s?[(\[{]\s?(?:at|AT)\s?[)\]}]\s?)` +
        String.raw`(?:\[[\p{L}\p{N}.:-]{1,64}\]|[${HOST}]{0,254}[\p{L}\p{N}])`,
      'gu',
    ),
  },
  card: {
    pattern: new RegExp(
      `(?<![${DIGIT}]|[${DIGIT}]\\.)[${DIGIT}](?:[\\s${SPACE_OR_DASH}]{0,2}[${DIGIT}]){12,}(?!\\.?[${DIGIT}])`,
      'gu',
    ),
    spans: cardNumbers,
    wide: new RegExp(`\\p{Nd}(?:[${GAP}]{0,3}\\p{Nd}){12,400}`, 'gu'),
  },
  phone: {
    pattern: phonePattern(),
    spans: (match) => (isPhoneNumber(match) ? [[0, match.length]] : []),
    wide: new RegExp(`[+\uff0b]?[(\uff08]?\\p{Nd}(?:[${GAP}()\uff08\uff09/\uff0f]{0,3}\\p{Nd}){6,400}`, 'gu'),
  },
};

function phonePattern(): RegExp {
  const digits = `[${DIGIT}]`;
  const gap = `[.${SPACE_OR_DASH}]`;
  const [open, close] = ['[(\uff08]', '[)\uff09]'];
  const country = `(?:[+\uff0b]${digits}{1,3}${gap}?)?`;
  const area = `(?:${open}${digits}{1,4}${close}${gap}?)?`;
  return new RegExp(
    `(?<![\\w${DIGIT}.+-])${country}${area}${digits}{2,4}(?:${gap}${digits}{2,8}){1,4}(?![\\w${DIGIT}-]|\\.${digits})` +
      `|(?<![\\w${DIGIT}+])[+\uff0b]${digits}{8,15}(?![\\w${DIGIT}])`,
    'gu',
  );
}

/** The text with each match of a rule replaced by the result of `replace`. */
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

/** Secrets of at least so many characters behind their name, or behind the word for bearers of tokens. */
function namedSecrets(least: number): RegExp[] {
  // Either case of each letter: the patterns are joined with others, which tell the cases apart.
  const names = SECRET_NAMES.replace(/(?<!\[[^\]]*)[a-z]/g, (letter) => `[${letter.toUpperCase()}${letter}]`);
  const secret = String.raw`[\w.~+/%-]{${least}}[\w.~+/%-]*={0,2}`;
  return [
    new RegExp(String.raw`(?<=\b(?:[Bb]earer|BEARER)[ \t]{1,4})${secret}`),
    new RegExp(String.raw`(?<=(?:${names})["'\s]{0,3}[:=]["'\s]{0,3})${secret}`),
  ];
}

/** Words of 32 and more characters with letters of both kinds and digits, as cloud providers make their secrets. */
function randomTokens(): RegExp[] {
  const mixed = (letters: string) => `(?=[${letters}]*?[a-z])(?=[${letters}]*?[A-Z])(?=[${letters}]*?[0-9])`;
  return [
    new RegExp(`(?<![\\w+/-])${mixed('\\w+-')}[\\w+-]{32}[\\w+-]*={0,2}`),
    new RegExp(`(?<![\\w+/-])${mixed('\\w+/')}[A-Za-z0-9+/]{40}(?:[A-Za-z0-9+/]{46}==)?(?![\\w+/=-])`),
  ];
}

function eitherOf(...patterns: RegExp[]): RegExp {
  return new RegExp(patterns.map(({ source }) => source).join('|'), 'g');
}

/**
 * A JWT is searched once for each word, not at each `eyJ` in it. The lines of a key never contain five dashes in a row.
 * So the search after a BEGIN ends at the next BEGIN at the latest.
 */
function jwtAndPem(): RegExp[] {
  return [
    /(?<![\w-])(?=[\w-]*?\beyJ[\w-]{10})[\w-]+\.[\w-]{10}[\w-]*\.[\w-]{10}[\w-]*/,
    /-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----(?:(?!-----)[\s\S]){0,20000}?-----END [A-Z ]{0,40}PRIVATE KEY-----/,
  ];
}

/** Card numbers by issuer: Visa, Mastercard, American Express, Diners Club, Discover, JCB, UnionPay. */
const ISSUED =
  /^(?:4(?:\d{15}|\d{18})|5[1-5]\d{14}|2[2-7]\d{14}|3[47]\d{13}|3(?:0[0-5]|[689]\d)\d{11}|6(?:011|4[4-9]\d|5\d\d)\d{12}|35\d{14}|62\d{14,17})$/;

/** A number in plain digits, blanks, dashes and signs, with as many characters. */
const plain = (text: string): string => text.replace(/\P{ASCII}/gu, plainCharacter);

function plainCharacter(one: string): string {
  // The digits of DIGIT begin at multiples of 16.
  if (/\p{Nd}/u.test(one)) return String((one.codePointAt(0) as number) % 16);
  if (/\s/.test(one)) return ' ';
  return one === '\uff0b' ? '+' : '-'.repeat(one.length);
}

/**
 * Card numbers in groups of digits, separated by a blank or a dash. A date or an order number may be next to a card
 * (`12-24 4111 1111 1111 1111`), so every sequence of whole groups is tested. A group that is longer than a card is
 * only cut to numbers that an issuer assigns. Otherwise every second number would contain one with a valid check digit.
 */
function cardNumbers(match: string): Span[] {
  const groups = [...plain(match).matchAll(/\d+/g)].map(({ 0: digits, index }) => ({
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
 * Index of the last group of the longest card that begins with the group `first`. Written cards have three or more
 * groups.
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

/** The longest card number at the beginning or the end of a group. */
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
function isPhoneNumber(match: string): boolean {
  const text = plain(match);
  const digits = text.replace(/\D/g, '');
  if (digits.length < 7 || digits.length > 15) return false;
  return !/^\d{4}[-. ]\d{2}[-. ]\d{2}(?:[-. ]\d{2,4})*$|^\d{2}[-. ]\d{2}[-. ]\d{4}$|^(?:(?:19|20)\d\d[-. ])+(?:19|20)\d\d$|^\d+\.\d+$/.test(
    text,
  );
}
