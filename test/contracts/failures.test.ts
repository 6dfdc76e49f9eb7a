// tier: unit
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { COMMAND_FAILURES } from '../../contracts/failures/command-line';
import { FAILURES } from '../../contracts/failures/run';
import { SANDBOX_FAILURES } from '../../contracts/failures/sandbox';
import { generatedDocuments } from '../../scripts/generated-documents';

const ROOT = join(__dirname, '../..');
const CATALOGUE = { ...FAILURES, ...COMMAND_FAILURES, ...SANDBOX_FAILURES };
const SOURCES = [
  'activities',
  'cli',
  'gateway',
  'k8s',
  'llm',
  'loaders',
  'sandbox',
  'store',
  'workers',
  'workflows',
].flatMap((folder) =>
  readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => readFileSync(join(ROOT, folder, name), 'utf8')),
);

/** Types that the sources write down, without the places that only compare an error with one. */
const raised = new Set(
  SOURCES.flatMap((text) => [
    ...text.replace(/[!=]== '[\w.]+'|isFailure\([^)]*\)/g, '').matchAll(/'([A-Z]\w+\.[A-Z]\w+)'/g),
  ]).map(([, type]) => type!),
);

it('every type of the catalogue is raised somewhere', () => {
  expect(Object.keys(CATALOGUE).filter((type) => !raised.has(type))).toEqual([]);
});

it('every type that is raised is in the catalogue, once', () => {
  expect([...raised].filter((type) => !Object.hasOwn(CATALOGUE, type))).toEqual([]);
  const all = [FAILURES, COMMAND_FAILURES, SANDBOX_FAILURES].flatMap((failures) => Object.keys(failures));
  expect(all).toHaveLength(new Set(all).size);
});

it('every failure has its line in docs/reference/errors.md', () => {
  const page = generatedDocuments()['docs/reference/errors.md']!;
  expect(Object.keys(CATALOGUE).filter((type) => !page.includes(`| \`${type}\` |`))).toEqual([]);
  // A bar would end its cell.
  expect(Object.values(CATALOGUE).filter(({ meaning, remedy }) => `${meaning}${remedy}`.includes('|'))).toEqual([]);
});

it('a limit that agent.yaml sets is named by its field, not by its default', () => {
  expect(Object.values(FAILURES).filter(({ meaning, remedy }) => /\d/.test(`${meaning}${remedy}`))).toEqual([]);
});
