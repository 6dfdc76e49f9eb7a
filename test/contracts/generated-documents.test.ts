// tier: unit
import { globSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import Ajv from 'ajv';
import { algorithmOptions, jobOptions } from '../../contracts/config/training-options';
import { editorSchemas, generatedDocuments, REPORT_PARTS } from '../../scripts/generated-documents';
import { fieldRows } from '../../scripts/schema-tables';

const ROOT = join(__dirname, '../..');
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');
const documents = generatedDocuments();

it.each(Object.keys(documents))('%s is up to date (npm run docs)', (path) => {
  expect(read(path)).toBe(documents[path]);
});

it.each(Object.keys(REPORT_PARTS))('every field of %s says what it means', (name) => {
  const rows = fieldRows(REPORT_PARTS[name]!, REPORT_PARTS);
  expect(rows.length).toBeGreaterThan(0);
  expect(rows.filter((row) => row.meaning === '').map((row) => row.path)).toEqual([]);
});

it('every training option says what it does', () => {
  const silent = Object.entries({ ...algorithmOptions, ...jobOptions }).filter(([, option]) => !option.description);
  expect(silent.map(([name]) => `${name}: add .describe('...') in contracts/config/training-options.ts`)).toEqual([]);
});

it('every field of agent.yaml says what it does', () => {
  const lines = documents['docs/reference/agent.md']!.split('\n').filter((line) => line.startsWith('| `'));
  expect(lines.length).toBeGreaterThan(150);
  expect(lines.filter((line) => line.endsWith('|  |') && !line.includes('| object |'))).toEqual([]);
});

it('the schema for editors takes a minimal agent and refuses an unknown field', () => {
  const validate = new Ajv({ strict: false, formats: { uri: true } }).compile(
    JSON.parse(editorSchemas()['agent.schema.json']!) as object,
  );
  const agent = {
    version: 1,
    name: 'desk',
    environment: {
      path: 'environment.py',
      trainSeeds: { start: 0, count: 10 },
      heldOutSeeds: { start: 100, count: 10 },
    },
    model: { name: 'base' },
  };
  expect(validate(agent)).toBe(true);
  expect(validate({ ...agent, modle: {} })).toBe(false);
});

it('an agent.yaml that names a schema for editors names the one that the build writes', () => {
  const files = globSync('{examples,bench,test}/**/*.yaml', { cwd: ROOT });
  const named = files.flatMap((file) => {
    const [, path] = /^# yaml-language-server: \$schema=(\S+)/m.exec(read(file)) ?? [];
    return path === undefined ? [] : [relative(ROOT, join(ROOT, dirname(file), path))];
  });
  expect(named.length).toBeGreaterThan(10);
  const written = Object.keys(editorSchemas()).map((name) => join('dist', 'schemas', name));
  expect(named.filter((path) => !written.includes(path))).toEqual([]);
});
