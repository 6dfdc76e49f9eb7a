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

  it('ends behind its limit, whatever size the file system tells', () => {
    expect(() => readBounded('/proc/self/maps', 100)).toThrow('is larger than 100 bytes.');
    expect(() => readBounded('/dev/zero', 100)).toThrow('is not a file.');
  });
});
