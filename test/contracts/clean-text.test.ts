// tier: unit
import { shortLines, singleLine } from '../../workflows/shared/single-line';
import { Readable } from 'node:stream';
import { cleanBlock, cleanHtml, cleanLine, cleanMarkdown, cleanText, wholeWords } from '../../contracts/clean-text';
import { cleanStandardStreams } from '../../contracts/clean-streams';
import { textLines } from '../../contracts/text-lines';

/** Controls of both sets, DEL, direction marks, separators, invisible tags and letters, half of a character. */
const HIDDEN = ['\u0000', '\u0007', '\u001b', '\u007f', '\u0085', '\u009b', '\u061c', '\u200e', '\u202a', '\u202e']
  .concat(['\u2028', '\u2029', '\u2066', '\u2069', '\ufeff', '\ufffa', '\u{e0041}', '\ud83d'])
  .concat(['\u00ad', '\u200b', '\u200c', '\u200d', '\u2060', '\u206f', '\u3164', '\u2800', '\ufe01', '\u{e0101}']);

test.each(HIDDEN)('%j is spelled out everywhere', (character) => {
  for (const clean of [cleanText, cleanBlock, cleanHtml])
    expect(clean(`a${character}b`)).toMatch(/^a(\\u[0-9a-f]{4})+b$/);
  for (const clean of [cleanLine, cleanMarkdown]) expect(clean(`a${character}b`)).toMatch(/^a( |\\+u[0-9a-f]{4})+b$/);
});

test('letters of all scripts, emoji and joiners stay', () => {
  const text = 'Prüfung, проверка, בדיקה, فحص, 検査, नहीं, क्‍ष, می‌خواهم, 👩‍🚀 ❤️ ✓ – “x”\n\tnext';
  expect(cleanText(text)).toBe(text);
});

test('colours go, line ends become newlines', () => {
  expect(cleanText('\u001b[1;31mred\u001b[0m\r\nnext')).toBe('red\nnext');
  expect(cleanLine('\u001b[2Ka\n\n  b\u2028c')).toBe('a b c');
});

test('further lines of a block cannot pass for lines of the program', () => {
  expect(cleanBlock('failed\n✓ certified')).toBe('failed\n    ✓ certified');
});

test('Markdown and HTML get no markup', () => {
  expect(cleanMarkdown('**a** | <img src=x> [b](c)\n# d')).toBe('\\*\\*a\\*\\* \\| \\<img src=x\\> \\[b\\](c) \\# d');
  expect(cleanMarkdown('# a ~~b~~ &lt;')).toBe('\\# a \\~\\~b\\~\\~ \\&lt;');
  expect(cleanMarkdown('- a - b')).toBe('\\- a - b');
  expect(cleanHtml('<b title="x">&\'')).toBe('&lt;b title=&quot;x&quot;&gt;&amp;&#39;');
});

test('JSON remains the same document', () => {
  const value = { [HIDDEN.join('')]: HIDDEN.join(' ') };
  expect(JSON.parse(cleanText(JSON.stringify(value)))).toEqual(value);
});

test('the streams of a service are cleaned, bytes are left alone', () => {
  const written: unknown[] = [];
  const stream = { write: (chunk: unknown) => written.push(chunk) > 0 } as unknown as NodeJS.WriteStream;
  cleanStandardStreams([stream]);
  stream.write('[ERROR] \u001b]0;owned\u0007');
  stream.write(Buffer.from('\u001b'));
  expect(written).toEqual(['[ERROR] \\u001b]0;owned\\u0007', Buffer.from('\u001b')]);
});

test('only a newline ends a line of a stream, wherever its bytes are cut', async () => {
  const bytes = Buffer.from('{"a":"x\u2028y\u2029\u0085z"}\n{"b":"é"}\nlast');
  const chunks = Array.from(bytes, (byte) => Buffer.from([byte]));
  const lines: string[] = [];
  for await (const line of textLines(Readable.from(chunks))) lines.push(line);
  expect(lines).toEqual(['{"a":"x\u2028y\u2029\u0085z"}', '{"b":"é"}', 'last']);
});

test('a long text ends with a whole word, unless one word is too long', () => {
  expect(wholeWords('the reward is NaN', 17)).toBe('the reward is NaN');
  expect(wholeWords('the reward is NaN', 16)).toBe('the reward is …');
  expect(wholeWords('the reward is NaN', 12)).toBe('the reward …');
  expect(wholeWords('a'.repeat(30), 10)).toBe('aaaaaaaa …');
  for (let most = 4; most < 40; most++)
    expect(wholeWords('one two three four five six', most).length <= most).toBe(true);
});

test('of a long line, whole words at its beginning and at its end are left', () => {
  const line = singleLine(`Trainer.Failed: ${'something else was said here '.repeat(20)}ValueError: no reward`, 90);
  expect(line.length).toBeLessThanOrEqual(90);
  expect(line).toMatch(/^Trainer\.Failed: something else( \w+)* … (\w+ )*ValueError: no reward$/);
  for (const word of line.replace('…', '').match(/\S+/g)!)
    expect('Trainer.Failed: something else was said here ValueError: no reward'.split(' ')).toContain(word);
  expect(singleLine('x'.repeat(500), 60).length).toBeLessThanOrEqual(60);
});

test('short lines keep those of a traceback, without terminal sequences and empty lines', () => {
  const traceback = 'Traceback:\r\n  File "agent.py", line\t3\n\n    \u001b[31mrun()\u001b[0m\nKeyError: 1\n';
  expect(shortLines(traceback, 500)).toBe('Traceback:\n  File "agent.py", line 3\n    run()\nKeyError: 1');
  const cut = shortLines(`Began.\n${'  more\n'.repeat(200)}KeyError: 1`, 100);
  expect(cut.length).toBeLessThanOrEqual(100);
  expect(cut).toMatch(/^Began\.\n[^]*\nKeyError: 1$/);
});
