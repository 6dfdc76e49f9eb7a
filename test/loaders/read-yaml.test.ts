// tier: unit
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readBounded, UnreadableFileError } from '../../loaders/read-bounded';
import { readYaml } from '../../loaders/read-yaml';

const folder = mkdtempSync(join(tmpdir(), 'whet-yaml-'));
const file = join(folder, 'a.yaml');
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const read = (text: string) => {
  writeFileSync(file, text);
  return readYaml(file);
};

describe('readYaml', () => {
  it('reads 80,000 keys within the time of a test', () => {
    const text = Array.from({ length: 80_000 }, (_, i) => `k${i}: 1`).join('\n');
    expect(Object.keys((read(text) as { value: object }).value)).toHaveLength(80_000);
  });

  it.each([
    ['a: 1\nb: 2\na: 3', 'the key "a" in line 3 is there twice.'],
    ['x: {a: 1, "a": 2}', 'the key "a" in line 1 is there twice.'],
    ['1: a\n"1": b', 'the key "1" in line 2 is there twice.'],
    ['- {b: 1, b: 2}', 'the key "b" in line 1 is there twice.'],
    ['&k a: 1\n*k : 2', 'the key "a" in line 2 is there twice.'],
    ['a: 1\n? [b]\n: 2', 'the key in line 2 is a list or a map. Keys are words.'],
  ])('refuses %j', (text, message) => {
    expect(read(text)).toEqual({ problems: [{ path: '', message }] });
  });

  // The path may be a link to a file that the reader of the message may not read.
  it.each([
    ['a: [hunter2', 'line 1, column 12'],
    ['a: "hunter2', 'line 1, column 12'],
    ['a: !hunter2 x', 'A tag cannot be resolved at line 1, column 4.'],
    ['%hunter2 x\n---\na: 1', 'A directive is not known at line 1, column 1.'],
    ['a: "\\qhunter2"', 'A text has an escape that YAML does not know at line 1, column 5.'],
    ['a: *hunter2', 'Unresolved alias (the anchor must be set before the alias)'],
    ['a: |hunter2\n  x', 'Block scalar header includes extra characters at line 1, column 5.'],
    ['a: 1\nhunter2', 'line 2, column 1'],
    ['a: b: hunter2', 'line 1, column 4'],
    ['x: @hunter2', 'Plain value cannot start with reserved character @ at line 1, column 4.'],
  ])('tells the place of what is wrong in %j, and nothing of it', (text, says) => {
    const message = JSON.stringify(read(text));
    expect(message).toContain('problems');
    expect(message).toContain(says);
    expect(message).not.toContain('hunter2');
  });

  it.each([
    ['a: &a {x: 1, y: 2}\nb: {<<: *a, y: 3}', { a: { x: 1, y: 2 }, b: { x: 1, y: 3 } }],
    ['a: &a {x: 1}\nb: &b {x: 2, y: 2}\nc: {<<: [*a, *b]}', { c: { x: 1, y: 2 } }],
    ['a: &a {x: 1}\nb: &b {<<: *a, y: 2}\nc:\n  <<: *b\n  z: 3', { c: { x: 1, y: 2, z: 3 } }],
    ['a: {"<<": 1}', { a: { '<<': 1 } }],
  ])('merges what %j merges', (text, value) => {
    expect(read(text)).toMatchObject({ value });
  });

  it.each([
    ['a: {<<: 1}', 'Merge sources must be maps'],
    ['a: {<<: *b}', 'Merge sources must be maps'],
    ['a: &a {<<: *a}', 'its aliases or levels cannot be resolved'],
    [
      `a0: &a0 {x: 1}\n${[1, 2, 3, 4, 5].map((n) => `a${n}: &a${n} {<<: [${`*a${n - 1},`.repeat(10)}]}\n`).join('')}`,
      'its aliases or levels cannot be resolved',
    ],
  ])('refuses to merge %j', (text, says) => {
    expect(JSON.stringify(read(text))).toContain(says);
  });

  it.each([
    ['a: 1\n---\nb: 2\n', 'line 2, column 1'],
    ['a: 1\n...\nb: 2\n', 'line'],
    ['---\na: 1\n---\n', 'line 3, column 1'],
  ])('tells that %j has two documents', (text, place) => {
    const message = JSON.stringify(read(text));
    expect(message).toContain('The file has more than one document, and one is read. Behind `---` the next one begins');
    expect(message).toContain(place);
    expect(message).not.toMatch(/parseAllDocuments|YAML\./);
  });

  it('tells the first fault, and how many follow it', () => {
    const { problems } = read('model:\n  name: base\n badly: [1\n  worse: }\n') as { problems: { message: string }[] };
    expect(problems).toHaveLength(1);
    expect(problems[0]!.message).toMatch(/ at line 3, column \d+\. .*\d+ more faults are behind it, which may be gone/);
  });

  it.each([
    ['a:\n  b: 1\n c: 2', 'Expected: fields of one level in one column'],
    [
      'a: 1\nb 2\nc: 3',
      'Implicit map keys need to be followed by map values at line 2, column 1. Expected: `field: value`.',
    ],
    ['a:\n\tb: 1', 'Tabs are not allowed as indentation at line 2, column 1. Expected: spaces.'],
  ])('tells what is expected in place of %j', (text, says) => {
    expect(JSON.stringify(read(text))).toContain(says);
  });

  it('refuses 200,000 levels', () => {
    expect(read('['.repeat(200_000))).toHaveProperty('problems');
  });
});

describe('readBounded', () => {
  it('does not wait for a FIFO', () => {
    const pipe = join(folder, 'pipe');
    execFileSync('mkfifo', [pipe]);
    expect(() => readBounded(pipe, 10)).toThrow('is not a file.');
  });

  it('does not wait for files of /proc that pass for empty files', () => {
    // Where this kernel or user has none of it, the other tests remain.
    if (!existsSync('/proc/kmsg')) return;
    expect(() => readBounded('/proc/kmsg', 1_000)).toThrow(UnreadableFileError);
  });

  it('says what is wrong with a NUL in a path', () => {
    expect(() => readBounded('a\0b', 10)).toThrow('has a NUL character in its name.');
  });

  it('ends behind its limit, whatever size the file system tells', () => {
    expect(() => readBounded('/proc/self/maps', 100)).toThrow('is larger than 100 bytes.');
    expect(() => readBounded('/dev/zero', 100)).toThrow('is not a file.');
    writeFileSync(file, 'a'.repeat(101));
    expect(() => readBounded(file, 100)).toThrow('has 101 bytes, and at most 100 are read.');
  });
});
