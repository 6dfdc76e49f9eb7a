// tier: unit
import { createHash } from 'node:crypto';
import { globSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { projectRoot } from '../../../contracts/project-root';
import { PatchError, readRecorded, recordedNames } from '../../../examples/shared/recorded-file';
import hashes from '../../fixtures/recorded-environments.json';

const ROOT = projectRoot();

describe('the environments that are kept as patches', () => {
  test.each(Object.entries(hashes))('%s has the bytes that were recorded', (path, sha256) => {
    const { text } = readRecorded(join(ROOT, path))!;
    expect(createHash('sha256').update(text).digest('hex')).toBe(sha256);
  });

  // The list is what says that a patch still makes the environment that was measured.
  test('are all in the list of hashes', () => {
    const patches = globSync(['bench/certificate/wrong/*.patch', 'examples/**/environments/*.patch'], { cwd: ROOT });
    expect(patches.length).toBeGreaterThan(75);
    const made = patches.map((path) => path.replace(/patch$/, 'py'));
    expect(made.filter((path) => !(path in hashes))).toEqual([]);
  });

  test('have a head that says what a reader sees in the diff', () => {
    for (const path of Object.keys(hashes)) {
      const { head } = readRecorded(join(ROOT, path))!;
      if (head === '') continue;
      expect(head).toMatch(/^# Capability: [a-z-]+$/m);
      expect(head).toMatch(/^# Teaches: .|^# Wrong: .*\n(?:# {3}.*\n)*# Kind: .+\n# Capability: .+\n# Harm: ./);
      expect(head.split('\n').filter((line) => line !== '' && !line.startsWith('# '))).toEqual([]);
    }
  });
});

describe('a recorded file', () => {
  const BASE = ['"""A desk."""', '', 'LIMIT = 3', '', '', 'def pay():', '    return 1', ''].join('\n');
  const HUNK = ['@@ -3,3 +3,4 @@', ' LIMIT = 3', ' ', '+MORE = 4', ' '].join('\n');
  const DIFF = `--- base.py\n+++ other.py\n${HUNK}\n`;
  let folder: string;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'whet-recorded-'));
    write('base.py', BASE);
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  const write = (name: string, text: string) => writeFileSync(join(folder, name), text);
  const read = (name = 'other.py') => readRecorded(join(folder, name));
  const refused = (name?: string): string => {
    try {
      read(name);
    } catch (error) {
      expect(error).toBeInstanceOf(PatchError);
      return (error as Error).message;
    }
    throw new Error('It was read.');
  };

  test('is read as it is, or made of the patch, and the head is not part of it', () => {
    expect(read('base.py')).toEqual({ head: '', text: BASE });
    expect(read()).toBeNull();
    write('other.patch', `# Capability: pay\n# Harm: none.\n${DIFF}`);
    const made = BASE.replace('LIMIT = 3\n\n', 'LIMIT = 3\n\nMORE = 4\n');
    expect(read()).toEqual({ head: '# Capability: pay\n# Harm: none.\n', text: made });
    expect(recordedNames(folder)).toEqual(['base.py', 'other.py']);
  });

  test('may be a patch of a patch, and the base may be in another folder', () => {
    write('other.patch', DIFF);
    mkdirSync(join(folder, 'deep'));
    write('deep/third.patch', '--- ../other.py\n+++ third.py\n@@ -5,1 +5,1 @@\n-MORE = 4\n+MORE = 5\n');
    expect(read('deep/third.py')?.text).toBe(BASE.replace('LIMIT = 3\n\n', 'LIMIT = 3\n\nMORE = 5\n'));
  });

  test('keeps blank lines of a patch that an editor has stripped', () => {
    write('other.patch', DIFF.replaceAll('\n \n', '\n\n'));
    expect(read()?.text).toContain('LIMIT = 3\n\nMORE = 4\n');
  });

  test('is refused where a hunk does not fit at its very place', () => {
    write('other.patch', DIFF);
    write('base.py', BASE.replace('LIMIT = 3', 'LIMIT = 9'));
    const patch = join(folder, 'other.patch');
    expect(refused()).toBe(
      `${patch}: hunk 1 (line 3 of base.py) does not fit: it expects "LIMIT = 3" in line 3, where the base has ` +
        '"LIMIT = 9". The base or the patch was changed. Make it again with `diff -u BASE.py NAME.py`, and keep its head.',
    );
    // A line further down it would fit, and make another file.
    write('base.py', `\n${BASE}`);
    expect(refused()).toContain('hunk 1 (line 3 of base.py) does not fit');
    write('base.py', 'LIMIT = 3\n');
    expect(refused()).toContain('where the base has "no line"');
  });

  test('is refused where the patch cannot be read', () => {
    const faults: [string, string][] = [
      ['# Only a head.\n', 'has no line "--- BASE.py" or no hunk'],
      [`${HUNK}\n`, 'has no line "--- BASE.py" or no hunk'],
      [DIFF.replace('+3,4', '+3,9'), 'Hunk at line 3 contained invalid line'],
      [DIFF.replace('-3,3 +3,4', '-3,1 +3,1'), 'has more lines than expected'],
      [`${DIFF}${DIFF}`, 'has more than the diff of one file'],
      [`${DIFF}${HUNK}\n`, 'hunk 2 (line 3 of base.py) begins before the end of the hunk above it'],
      [`${DIFF}more words\n`, 'has lines that belong to no hunk'],
      [`${DIFF}@ -6,1 +7,1 @@\n-def pay():\n+def save():\n`, 'has lines that belong to no hunk'],
      [DIFF.replace('@@ -3,3', '@ -3,3'), 'has no line "--- BASE.py" or no hunk'],
    ];
    for (const [patch, message] of faults) {
      write('other.patch', patch);
      expect(refused()).toContain(message);
      expect(refused()).toContain(`${join(folder, 'other.patch')}: `);
    }
  });

  test('is refused where its base is missing, is itself, or the plain file is there as well', () => {
    write('other.patch', DIFF.replace('--- base.py', '--- a/base.py'));
    expect(refused()).toContain('its base a/base.py is not there. Correct the line "--- a/base.py"');
    write('other.patch', DIFF.replace('--- base.py', '--- other.py'));
    expect(refused()).toContain('its bases lead back to it');
    write('other.py', BASE);
    expect(refused()).toContain('other.py is there as well. Remove one of the two.');
  });
});
