// tier: unit
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, normalize, relative } from 'node:path';
import { loadAgentSpec } from '../../loaders/agent-spec';
import { SMALLEST_AGENT } from '../../scripts/agent-page';

const ROOT = join(__dirname, '../..');
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');
const pages = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', '*.md'], { cwd: ROOT })
  .toString()
  .trim()
  .split('\n')
  .filter((path) => existsSync(join(ROOT, path)));

/** The page without its fenced code. */
const withoutFences = (text: string) => text.replace(/^( *)```[^]*?^\1```/gm, '');

/** The anchors that GitHub gives to the headings of a page. */
const anchorsOf = (path: string) =>
  [...withoutFences(read(path)).matchAll(/^#+ (.*)$/gm)].map(([, heading]) =>
    heading!
      .toLowerCase()
      .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
      .replace(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(' ', '-'),
  );

/** An element with this id, or a row that names it, also counts as an anchor. */
const hasAnchor = (path: string, anchor: string) =>
  anchorsOf(path).includes(anchor) || read(path).includes(`id="${anchor}"`);

test.each(pages)('every link of %s leads somewhere', (page) => {
  const text = withoutFences(read(page)).replace(/`[^`\n]*`/g, '');
  const links = [...text.matchAll(/\]\(([^)\s]+)\)/g), ...text.matchAll(/^\[[^\]]+\]: (\S+)$/gm)].map(([, to]) => to!);
  const broken = links
    .filter((link) => !/^[a-z]+:/.test(link))
    .filter((link) => {
      const [path = '', anchor] = link.split('#');
      const target = path === '' ? page : normalize(join(dirname(page), path));
      if (!existsSync(join(ROOT, target))) return true;
      if (anchor === undefined || statSync(join(ROOT, target)).isDirectory()) return false;
      return target.endsWith('.md') && !hasAnchor(target, anchor);
    });
  expect(broken).toEqual([]);
});

test('the smallest agent.yaml of the reference is valid', () => {
  expect(read('docs/reference/agent.md')).toContain(SMALLEST_AGENT);
  const folder = mkdtempSync(join(tmpdir(), 'whet-docs-'));
  writeFileSync(join(folder, 'agent.yaml'), SMALLEST_AGENT);
  writeFileSync(join(folder, 'environment.py'), '');
  expect(loadAgentSpec(join(folder, 'agent.yaml')).name).toBe('my-agent');
  rmSync(folder, { recursive: true });
});

test('code and messages name only pages that exist', () => {
  const sources = execFileSync(
    'git',
    ['grep', '-lE', 'docs/[a-z0-9/-]+\\.md', '--', '*.ts', '*.py', '*.sh', '*.js', '*.yaml'],
    {
      cwd: ROOT,
    },
  )
    .toString()
    .trim()
    .split('\n')
    .filter((path) => path !== relative(ROOT, __filename));
  const missing = sources.flatMap((path) =>
    [...read(path).matchAll(/(?<![\w/])docs\/[a-z0-9/-]+\.md/g)]
      .map(([named]) => named)
      .filter((named) => !existsSync(join(ROOT, named)))
      .map((named) => `${path}: ${named}`),
  );
  expect(missing).toEqual([]);
});

const words = (text: string) => text.split(/\s+/).filter(Boolean).length;

test('README has at most 700 words, fenced code not counted', () => {
  expect(words(withoutFences(read('README.md')))).toBeLessThanOrEqual(700);
});

test('the map of CONTRIBUTING names only places that exist', () => {
  const rows = read('CONTRIBUTING.md')
    .split('\n## ')[1]!
    .split('\n')
    .filter((line) => line.startsWith('| '));
  const places = rows.flatMap((row) => [...row.matchAll(/`([\w./-]+\/[\w./-]*)`/g)].map(([, place]) => place!));
  expect(places.length).toBeGreaterThan(25);
  const inTrainer = (place: string) => join('trainer-image/whetstone', place);
  const isMissing = (place: string) =>
    ![place, inTrainer(place), inTrainer(`train/${place}`)].some((path) => existsSync(join(ROOT, path)));
  expect(places.filter(isMissing)).toEqual([]);
});

test('the glossary has at most 30 lines', () => {
  expect(read('docs/glossary.md').trim().split('\n').length).toBeLessThanOrEqual(30);
});

test('the guide to your own agent shows the files that are tested', () => {
  const guide = read('docs/guides/your-own-agent.md');
  for (const file of ['environment.py', 'client.py'])
    expect(guide).toContain(`\`\`\`python\n${read(`examples/smallest/${file}`)}\`\`\``);
});

/** Pages that code writes: fields, failures, options and attacks are as many as there are. */
const GENERATED = ['agent', 'attacks', 'errors', 'report', 'routers', 'training'].map(
  (name) => `docs/reference/${name}.md`,
);

test('docs have at most 35,000 words, the generated reference not counted', () => {
  const written = pages.filter((page) => page.startsWith('docs/') && !GENERATED.includes(page));
  expect(written.reduce((sum, page) => sum + words(read(page)), 0)).toBeLessThanOrEqual(35_000);
});

test('a decision has at most 600 words', () => {
  const decisions = pages.filter((page) => page.startsWith('docs/adr/'));
  expect(decisions.length).toBeGreaterThan(15);
  expect(decisions.filter((page) => words(read(page)) > 600)).toEqual([]);
});
