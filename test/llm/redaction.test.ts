// tier: unit
import { Redactor, redactsFor, Replacements } from '../../llm/redaction';
import { REDACTION_RULES } from '../../contracts/config/analyst-spec';
import { createRedaction } from '../../contracts/redact-message';

const redactor = new Redactor(
  { rules: [...REDACTION_RULES], patterns: [{ name: 'customer', pattern: 'C-\\d{6}' }] },
  's'.repeat(64),
);
const redact = (text: string) => redactor.redact(text, new Replacements());

test.each([
  ['an e-mail address', 'write to ana.ruiz+x@mail.example.com now', /^write to \[email:[0-9a-f]{10}\] now$/],
  [
    'a phone number',
    'call +49 30 1234567, or (030) 123-4567',
    /^call \[phone:[0-9a-f]{10}\], or \[phone:[0-9a-f]{10}\]$/,
  ],
  ['a card number', 'card 4111 1111 1111 1111.', /^card \[card:[0-9a-f]{10}\]\.$/],
  ['a card number before its date', 'card 4111 1111 1111 1111 12/27', /^card \[card:[0-9a-f]{10}\] 12\/27$/],
  ['a card number before its check code', '4111111111111111 123', /^\[card:[0-9a-f]{10}\] 123$/],
  ['a card number after an order', 'order 88 4111111111111111', /^order 88 \[card:[0-9a-f]{10}\]$/],
  [
    'a card number in an id',
    'ref-4111111111111111, id:4111111111111111-1',
    /^ref-\[card:[0-9a-f]{10}\], id:\[card:[0-9a-f]{10}\]-1$/,
  ],
  ['a card number after a dash', 'x-4111 1111 1111 1111', /^x-\[card:[0-9a-f]{10}\]$/],
  ['a card number with its check code in one', '4111111111111111123', /^\[card:[0-9a-f]{10}\]123$/],
  ['two cards in a row', '4111 1111 1111 1111 5500 0055 5555 5559', /^\[card:[0-9a-f]{10}\] \[card:[0-9a-f]{10}\]$/],
  ['a phone number with other spaces and dashes', '+49\u00a030\u202f1234567', /^\[phone:[0-9a-f]{10}\]$/],
  ['a phone number with dashes of print', '030–123–4567', /^\[phone:[0-9a-f]{10}\]$/],
  ['a phone number in full-width digits', '（０３０）１２３－４５６７', /^\[phone:[0-9a-f]{10}\]$/],
  ['a card number over two lines', 'card 4111 1111\n1111 1111.', /^card \[card:[0-9a-f]{10}\]\.$/],
  ['a card number in other spaces', '4111\u00a01111\u00a01111\u00a01111', /^\[card:[0-9a-f]{10}\]$/],
  ['a card number in full-width digits', '４１１１１１１１１１１１１１１１', /^\[card:[0-9a-f]{10}\]$/],
  ['an address with a full-width sign', 'ann＠example.org', /^\[email:[0-9a-f]{10}\]$/],
  ['a token of a hub', 'hf_abcdefghijklmnopqrstuvwxyzABCDEFGH', /^\[key:[0-9a-f]{10}\]$/],
  ['the token of a bearer', 'Bearer 3f2a9c4e5b6d7f8091a2b3c4d5e6f708', /^Bearer \[key:[0-9a-f]{10}\]$/],
  [
    'a secret key of a cloud',
    'SecretAccessKey: wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY',
    /^SecretAccessKey: \[key:[0-9a-f]{10}\]$/,
  ],
  ['an API key', 'key sk-abcdefghijklmnop1234', /^key \[key:[0-9a-f]{10}\]$/],
  ['what a pattern of one’s own matches', 'customer C-123456', /^customer \[customer:[0-9a-f]{10}\]$/],
])('replaces %s', (_, text, expected) => expect(redact(text)).toMatch(expected));

test.each([
  ['a number with a wrong check digit', 'order 4111 1111 1111 1112'],
  ['a longer number with a wrong check digit', 'order 88 4111111111111112 and 1763769600000127'],
  ['a decimal number', 'ratio 0.30000000000000004 or 17637696000001234.5'],
  ['a date', 'on 2026-11-21 and 21-11-2026'],
  ['years', 'from 2024 2025 2026 and 2024–2025'],
  ['a date with dashes of print', 'on 2026–11–21'],
  ['words about keys', 'Bearer authentication needs a token: see the password: page'],
  ['amounts', 'costs 1299.50 for 12 pieces, ratio 1234.5678'],
  ['a short id', 'order 1234567 of U12'],
  ['a version', 'version 1.24.0-3'],
])('leaves %s alone', (_, text) => expect(redact(text)).toBe(text));

test('rows of small numbers hold no card', () => {
  const text = Array.from({ length: 200 }, (_, i) => 10 + ((i * 37) % 90)).join(' ');
  expect(new Redactor({ rules: ['card'], patterns: [] }, 's'.repeat(64)).redact(text, new Replacements())).toBe(text);
});

test('a card has the same placeholder whatever stands beside it', () => {
  const placeholder = redact('4111111111111111');
  expect(redact('88 4111111111111111 123 4111111111111111-1')).toBe(`88 ${placeholder} 123 ${placeholder}-1`);
});

test('the same value has the same placeholder everywhere, and another secret makes another', () => {
  const [a, b] = [redact('to x@example.org'), redact('from x@example.org, again x@example.org')];
  const placeholder = /\[email:\w+\]/.exec(a)?.[0] as string;
  expect(b.split(placeholder)).toHaveLength(3);
  expect(
    new Redactor({ rules: ['email'], patterns: [] }, 't'.repeat(64)).redact('to x@example.org', new Replacements()),
  ).not.toBe(a);
});

test('the values come back into every string of an answer, with quotes in them as well', () => {
  const replacements = new Replacements();
  const custom = new Redactor({ rules: ['email'], patterns: [{ name: 'name', pattern: '"Ana"' }] }, 's'.repeat(64));
  const text = custom.redact('"Ana" <ana@example.org>', replacements);
  expect(
    replacements.restore({ reason: `it says ${text}`, list: [text], step: 3, unknown: '[email:0000000000]' }),
  ).toEqual({
    reason: 'it says "Ana" <ana@example.org>',
    list: ['"Ana" <ana@example.org>'],
    step: 3,
    unknown: '[email:0000000000]',
  });
  expect(replacements.counts).toEqual({ name: 1, email: 1 });
});

test('an endpoint on this machine is spared unless one says otherwise', () => {
  expect(redactsFor({ when: 'remote' }, 'http://127.0.0.1:8301/v1')).toBe(false);
  expect(redactsFor({ when: 'always' }, 'http://localhost:8301/v1')).toBe(true);
  expect(redactsFor({ when: 'remote' }, 'https://api.openai.com/v1')).toBe(true);
  expect(redactsFor({ when: 'never' }, 'https://api.openai.com/v1')).toBe(false);
});

test.each([
  ['words that begin like a token', '-eyJaaaaaaaaaa'],
  ['tokens without an end', 'eyJaaaaaaaaaa.'],
  ['keys that never end', '-----BEGIN RSA PRIVATE KEY-----\n'],
  ['digits and dashes', '4111-'],
  ['one digit after the other', '4'],
  ['addresses without a domain', 'a.b@'],
  ['domains without an end', 'a@b-.'],
  ['brackets', '+(1) '],
])('a megabyte of %s is read to its end, for the analyst and for traces', (_, piece) => {
  const text = piece.repeat(1_000_000 / piece.length);
  redact(text);
  createRedaction({ sample: 1, redact: [...REDACTION_RULES], redactPatterns: [], successReward: 1 })({
    role: 'user',
    content: text,
  });
});

test.each([
  ['a token after a word', 'see token-eyJabcdefghijk.abcdefghijkl.abcdefghijkl!', /^see \[key:[0-9a-f]{10}\]!$/],
  [
    'a private key after one that is cut',
    `-----BEGIN PRIVATE KEY-----\nabc-----BEGIN PRIVATE KEY-----\n${'A'.repeat(12_000)}\n-----END PRIVATE KEY-----.`,
    /abc\[key:\w+\]\.$/,
  ],
])('replaces %s', (_, text, expected) => expect(redact(text)).toMatch(expected));
