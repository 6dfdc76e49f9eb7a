// tier: unit
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { rowIds } from '../../scripts/measured-page';

const ROOT = join(__dirname, '..', '..');
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');
const MEASURED = join('docs', 'measured.md');

/** Pages that people read: no decision, which is dated, and nothing generated. */
const pages = ['README.md', ...globSync('docs/**/*.md', { cwd: ROOT })].filter(
  (path) =>
    path !== MEASURED &&
    !path.startsWith(join('docs', 'adr')) &&
    !read(path).includes('by `npm run docs`; do not edit.'),
);
const cited = (text: string) => [...text.matchAll(/measured\.md#([\w-]+)/g)].map(([, id]) => id!);

/** Paragraphs, lists and tables, without code. */
const blocks = (text: string) => text.replace(/^```.*?^```/gms, '').split(/\n\s*\n/);

/** Whether a block says that something was measured, with a number, or has an interval. */
function statesFigure(block: string): boolean {
  const words = block.replace(/`[^`]*`|\]\([^)]*\)|\b(not|never|none)( of \w+)?( has| was)?( been)? measured/gi, '');
  return (/\bmeasured\b/i.test(words) && /\d/.test(words)) || /\[[+-]?\d+(\.\d+)?, [+-]?\d+\.\d+\]/.test(words);
}

describe('figures of README and docs', () => {
  const ids = rowIds(read(MEASURED));

  it('have ids that occur once', () => {
    expect(ids.length).toBeGreaterThan(20);
    expect(ids.filter((id, i) => ids.indexOf(id) !== i)).toEqual([]);
  });

  it.each(pages)('%s cites rows that are there', (path) => {
    expect(cited(read(path)).filter((id) => !ids.includes(id))).toEqual([]);
  });

  it.each(pages)('%s cites a row wherever it says that something was measured or has an interval', (path) => {
    const without = blocks(read(path)).filter((block) => statesFigure(block) && cited(block).length === 0);
    expect(without.map((block) => `cite docs/measured.md#... in: ${block}`)).toEqual([]);
  });

  it('have no row that no page cites', () => {
    const all = new Set(pages.flatMap((path) => cited(read(path))));
    expect(ids.filter((id) => !all.has(id)).map((id) => `${id}: cite it, or remove its row`)).toEqual([]);
  });
});

describe('what states a figure', () => {
  it.each([
    ['Measured on two cores: 3 s.', true],
    ['It gains +3.1 [+1.0, +5.2].', true],
    ['| a | +3.1 [-1.0, 5.2] |', true],
    ['A reward is in [0, 1].', false],
    ['How much memory it saves was not measured; see section 4.', false],
    ['`measured` has 3 fields.', false],
  ])('%s: %s', (block, states) => {
    expect(statesFigure(block)).toBe(states);
  });
});
