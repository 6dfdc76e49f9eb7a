// tier: unit
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';

const ROOT = join(__dirname, '..', '..');
/** Pieces of code, and whether they are a way past cli/output.ts to a terminal. */
const CODE: readonly (readonly [code: string, refused: boolean])[] = [
  ['process.stdout.write(text);', true],
  ['process["stderr"].write(text);', true],
  ['console.log(text);', true],
  ['const { stdout } = process;', true],
  ['const show = ({ stderr } = process) => stderr.write(text);', true],
  ['const streams = process;', true],
  ['import { log } from "node:console";', true],
  ['process.exitCode = 1; const { PATH } = process.env; out.line(PATH);', false],
];
/** The configuration is loaded by Node itself, because plugins are modules that the test runner does not load. */
const SCRIPT = `
const { Linter } = require('eslint');
const found = require('./eslint.config.js').findLast(
  ({ files, rules }) => files?.includes('cli/**/*.ts') && rules?.['no-restricted-syntax'],
);
const rules = { 'no-restricted-syntax': found.rules['no-restricted-syntax'] };
const codes = JSON.parse(process.argv[1]);
console.log(JSON.stringify(codes.map((code) => new Linter().verify(code, [{ rules }]).length > 0)));
`;

test('the linter refuses what leads past cli/output.ts, and nothing else', () => {
  const codes = JSON.stringify(CODE.map(([code]) => code));
  const verdicts = JSON.parse(
    execFileSync(process.execPath, ['-e', SCRIPT, codes], { cwd: ROOT }).toString(),
  ) as boolean[];
  expect(CODE.map(([code], index) => [code, verdicts[index]])).toEqual(CODE);
});
