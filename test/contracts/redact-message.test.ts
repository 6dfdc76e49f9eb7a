// tier: unit
import { REDACTION_RULES, type RedactionRule } from '../../contracts/config/analyst-spec';
import { createRedaction } from '../../contracts/redact-message';
import { Redactor, Replacements } from '../../llm/redaction';

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
  ['phone', '+49\u00a030\u202f1234\u20075678, 030\u20091234567, 0049\u3000301234567', '[phone], [phone], [phone]'],
  ['phone', '030–1234567, 030—123–4567, 030\u20111234567, 030\u22121234567', '[phone], [phone], [phone], [phone]'],
  ['phone', '＋４９（３０）１２３４５６７, ٠٣٠١٢٣٤٥٦٧, ०३०१२३४५६७', '[phone], [phone], [phone]'],
  ['phone', '030\u200b123\u00ad4567, 030·123·4567, 030_123_4567, 030／1234567', '[phone], [phone], [phone], [phone]'],
  ['phone', '+49 30\n1234567, 030\t1234567, 0\ufe0f\u20e33\ufe0f\u20e30123456', '[phone], [phone], [phone]'],
  ['card', '4111 1111\n1111 1111, 4111\r\n1111\r\n1111\r\n1111, 4111\u20281111 1111 1111', '[card], [card], [card]'],
  ['card', '4111\u00a01111\u00a01111\u00a01111, 4111–1111–1111–1111', '[card], [card]'],
  ['card', '４１１１　１１１１　１１１１　１１１１, 4111•1111•1111•1111', '[card], [card]'],
  ['card', '4111·1111·1111·1111, 4111_1111_1111_1111, 4111 - 1111 - 1111 - 1111', '[card], [card], [card]'],
  [
    'email',
    'ann＠example.org, ann﹫example.org, ann＠example．org, ａｎｎ＠example。org',
    '[email], [email], [email], [email]',
  ],
  [
    'email',
    'ann%40example.org, ann&#64;example.org, ann (at) example.org, ann[at]example.org',
    '[email], [email], [email], [email]',
  ],
  ['key', 'hf_abcdefghijklmnopqrstuvwxyzABCDEFGH, glpat-abcdefghij1234567890', '[key], [key]'],
  ['key', 'gsk_abcdefghijklmnopqrst npm_abcdefghijklmnopqrst r8_abcdefghijklmnopqrst', '[key] [key] [key]'],
  ['key', 'Authorization: Bearer 3f2a9c4e5b6d7f8091a2b3c4d5e6f708', 'Authorization: Bearer [key]'],
  [
    'key',
    'authorization: bearer abc.def-ghi_jkl~123+/==, Basic dXNlcjpwYXNzd29yZA==',
    'authorization: bearer [key], Basic [key]',
  ],
  ['key', 'aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY', 'aws_secret_access_key = [key]'],
  ['key', 'it is wJalrXUtnFEMI/K7MDENG/bPxRf1CYEXAMPLEKEY.', 'it is [key].'],
  [
    'key',
    'AccountKey=lJzRc1YdHaAA2KCNJJ1tkYwF/+mKK6Ygw0NGe170Xu592euJv2wYUtBlV8z+qnlcNQSnIYVTkLWntUO1F8j8rQ==;x',
    'AccountKey=[key];x',
  ],
  [
    'key',
    'client_secret: "abc8Q~abcdefghijklmnop" token=abc-123 x-api-key: 0123456789abcdef',
    'client_secret: "[key]" token=[key] x-api-key: [key]',
  ],
  [
    'key',
    'https://x.blob/c?sv=1&sig=aB%2Fc%3D0123&se=2, PASSWORD="hunter2!"',
    'https://x.blob/c?sv=1&sig=[key]&se=2, PASSWORD="[key]!"',
  ],
  ['key', 'ASIAabcdefghijklmnop ya29.abcdefghijklmnop SG.abcdefghijklmnop', '[key] [key] [key]'],
  [
    'key',
    'a token, the secret, prompt_tokens: 123456789, sha256 e3b0c44298fc1c149afbf4c8996fb924',
    'a token, the secret, prompt_tokens: 123456789, sha256 e3b0c44298fc1c149afbf4c8996fb924',
  ],
] as const)('redaction of %s: %s', (kind, text, expected) => expect(redacting([kind])(text)).toBe(expected));

describe('redaction of a message', () => {
  const clean = createRedaction({ sample: 1, redact: [...REDACTION_RULES], redactPatterns: [], successReward: 1 });
  const calling = (id: string, name: string, given: string) =>
    clean({
      role: 'assistant',
      content: null,
      tool_calls: [{ id, type: 'function', function: { name, arguments: given } }],
    }).tool_calls![0]!;

  it("reads a call's id and name, what a result answers, and what was thought", () => {
    expect(calling('call-ann@example.org', 'dial_5551234567', '{}')).toEqual({
      id: '[email]',
      type: 'function',
      function: { name: 'dial_[phone]', arguments: '{}' },
    });
    const message = clean({
      role: 'tool',
      content: 'ok',
      tool_call_id: 'call-ann@example.org',
      reasoning_content: 'Ann has 5551234567',
    });
    expect([message.tool_call_id, message.reasoning_content]).toEqual(['[email]', 'Ann has [phone]']);
  });

  it.each([
    ['escapes', '{"to":"j\\u00f6rg\\uff20example.org"}', '{"to":"[email]"}'],
    ['escaped spaces', '{"to":"030\\u00a01234567","card":"4111 1111\\n1111 1111"}', '{"to":"[phone]","card":"[card]"}'],
    ['numbers', '{"card": 4111111111111111, "n": 12345678901234.5}', '{"card": "[card]", "n": "[card]"}'],
    ['names', '{"ann@example.org" : 1}', '{"[email]" : 1}'],
    ['names that are replaced too', '{"jo@x.com token": "abcdef123"}', '{"[email] token": "[key]"}'],
    ['names of secrets', '{"api_key" : "abcdefgh", "Password":"hunter2"}', '{"api_key" : "[key]", "Password":"[key]"}'],
    [
      'JSON in JSON',
      JSON.stringify({ body: '{"to":"j\\u00f6rg@example.org"}' }),
      JSON.stringify({ body: '{"to":"[email]"}' }),
    ],
    ['lists', '["ann@example.org", ["x", 5]]', '["[email]", ["x", 5]]'],
    ['what is half JSON', '{"to":"ann@example.org', '{"to":"[email]'],
    ['nothing to replace', '{ "a" : 1.50, "b":"\\u00e9\\n" }', '{ "a" : 1.50, "b":"\\u00e9\\n" }'],
  ])('reads arguments and results with %s', (_name, given, expected) => {
    expect(calling('c', 'f', given).function.arguments).toBe(expected);
    expect(clean({ role: 'tool', content: given }).content).toBe(expected);
  });

  it('bounds what many levels of JSON in JSON become', () => {
    // Each quote of a level is written with an escape, so that the text grows by few characters a level.
    let given = '"to ann@example.org"';
    for (let level = 0; level < 30; level++)
      given = `"${given.replaceAll(/["\\]/g, (one) => `\\u00${one.charCodeAt(0).toString(16)}`)}"`;
    expect(given.length).toBeLessThan(30_000);
    const content = clean({ role: 'tool', content: given }).content!;
    expect(content).toContain('[email]');
    expect(content).not.toContain('example.org');
    expect(content.length).toBeLessThan(20 * given.length);
  });

  it('own patterns read JSON as it is written, and each text of it', () => {
    const own = createRedaction({ sample: 1, redact: [], redactPatterns: ['"pin":"\\d+"', '^é$'], successReward: 1 });
    const content = (text: string) => own({ role: 'tool', content: text }).content;
    expect(content('{"pin":"1234"}')).toBe('{[redacted]}');
    expect(content('{"a":"\\u00e9"}')).toBe('{"a":"[redacted]"}');
  });

  it.each(['"', '\\\\', '{"a":"', '1,', '"\\u00e9",', 'a1A', 'token=', 'a@b', '٤', '４ '])(
    'two megabytes of %j are read to their end',
    (piece) => {
      const text = `[${JSON.stringify(piece.repeat(2_000_000 / piece.length))}]`;
      expect(typeof clean({ role: 'tool', content: text }).content).toBe('string');
    },
  );
});

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
