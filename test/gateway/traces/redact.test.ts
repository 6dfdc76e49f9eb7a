// tier: unit
import { REDACTION_RULES, type RedactionRule } from '../../../contracts/config/analyst-spec';
import { createRedaction } from '../../../gateway/traces/redact';
import { Redactor, Replacements } from '../../../llm/redaction';

const redacting = (redact: readonly RedactionRule[], redactPatterns: string[] = []) => {
  const clean = createRedaction({ sample: 1, redact: [...redact], redactPatterns, successReward: 1 });
  return (content: string) => clean({ role: 'user', content }).content;
};

test.each([
  ['email', 'to ann.b+c@mail.example.co.uk now', 'to [email] now'],
  ['email', 'a@10.0.0.1, b@[10.0.0.1], ann@intranet.', '[email], [email], [email].'],
  ['phone', 'call +49 (30) 1234-5678 today, order 12345', 'call [phone] today, order 12345'],
  ['phone', '5551234567, 01701234567, 030.1234567, (030) 123-4567', '[phone], [phone], [phone], [phone]'],
  ['card', 'card 4111 1111 1111 1111.', 'card [card].'],
  ['card', 'card 4111 1111 1111 1111 12/27', 'card [card]/27'],
  ['card', '4111111111111111 123', '[card]'],
  ['card', 'order 88 4111111111111111', 'order [card]'],
  ['card', 'ref-4111111111111111, id:4111111111111111-1', 'ref-[card], id:[card]'],
  ['card', 'x-4111 1111 1111 1111, and with a slip 4111 1111 1111 1112', 'x-[card], and with a slip [card]'],
  ['key', 'key sk-abcdefghijklmnop', 'key [key]'],
  ['key', 'key sk_abcdefghijklmnop1234', 'key [key]'],
] as const)('redaction of %s: %s', (kind, text, expected) => expect(redacting([kind])(text)).toBe(expected));

test('own patterns come first, as for the analyst', () => {
  expect(redacting(REDACTION_RULES, ['customer 555\\d+'])('customer 5551234567')).toBe('[redacted]');
});

test.each(REDACTION_RULES)('what the analyst is not shown is not kept either: %s', (rule) => {
  const analyst = new Redactor({ rules: [rule], patterns: [] }, 's'.repeat(64));
  const texts = [
    'ana.ruiz+x@mail.example.com',
    '+49 30 1234567',
    '(030) 123-4567',
    '+4930123456',
    '4111 1111 1111 1111',
    '3782-822463-10005',
    'sk-abcdefghijklmnop1234',
    'rk_live_abcdefghij',
    'ghu_abcdefghijklmnopqrst',
    'AIzaabcdefghijklmnopqrstuvwxyz0123',
    'token-eyJabcdefghijk.abcdefghijkl.abcdefghijkl',
    '-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----',
  ];
  const found = texts.filter((text) => analyst.redact(text, new Replacements()) !== text);
  expect(found.length).toBeGreaterThan(0);
  for (const text of found) expect(redacting([rule])(text)).toBe(`[${rule}]`);
});
