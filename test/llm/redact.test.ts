// tier: unit
import { Redactor, redactsFor, Replacements } from '../../llm';
import { REDACTION_RULES } from '../../contracts';

const redactor = new Redactor({ rules: [...REDACTION_RULES], patterns: [{ name: 'customer', pattern: 'C-\\d{6}' }] }, 's'.repeat(64));
const redact = (text: string) => redactor.redact(text, new Replacements());

test.each([
  ['an e-mail address', 'write to ana.ruiz+x@mail.example.com now', /^write to \[email:[0-9a-f]{10}\] now$/],
  ['a phone number', 'call +49 30 1234567, or (030) 123-4567', /^call \[phone:[0-9a-f]{10}\], or \[phone:[0-9a-f]{10}\]$/],
  ['a card number', 'card 4111 1111 1111 1111.', /^card \[card:[0-9a-f]{10}\]\.$/],
  ['an API key', 'key sk-abcdefghijklmnop1234', /^key \[key:[0-9a-f]{10}\]$/],
  ['what a pattern of one’s own matches', 'customer C-123456', /^customer \[customer:[0-9a-f]{10}\]$/],
])('replaces %s', (_, text, expected) => expect(redact(text)).toMatch(expected));

test.each([
  ['a number with a wrong check digit', 'order 4111 1111 1111 1112'],
  ['a date', 'on 2026-11-21 and 21-11-2026'],
  ['years', 'from 2024 2025 2026'],
  ['amounts', 'costs 1299.50 for 12 pieces, ratio 1234.5678'],
  ['a short id', 'order 1234567 of U12'],
  ['a version', 'version 1.24.0-3'],
])('leaves %s alone', (_, text) => expect(redact(text)).toBe(text));

test('the same value has the same placeholder everywhere, and another secret makes another', () => {
  const [a, b] = [redact('to x@example.org'), redact('from x@example.org, again x@example.org')];
  const placeholder = /\[email:\w+\]/.exec(a)?.[0] as string;
  expect(b.split(placeholder)).toHaveLength(3);
  expect(new Redactor({ rules: ['email'], patterns: [] }, 't'.repeat(64)).redact('to x@example.org', new Replacements())).not.toBe(a);
});

test('the values come back into every string of an answer, with quotes in them as well', () => {
  const replacements = new Replacements();
  const custom = new Redactor({ rules: ['email'], patterns: [{ name: 'name', pattern: '"Ana"' }] }, 's'.repeat(64));
  const text = custom.redact('"Ana" <ana@example.org>', replacements);
  expect(replacements.restore({ reason: `it says ${text}`, list: [text], step: 3, unknown: '[email:0000000000]' })).toEqual({
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
