// Tier: unit.
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { modelDirectorySha256 } from '../../store/model-hash';

const folder = mkdtempSync(join(tmpdir(), 'whet-hash-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test("is the trainer's hash of the same directory", async () => {
  mkdirSync(join(folder, 'a', 'b'), { recursive: true });
  const files = {
    'config.json': '{}',
    'Z.json': 'upper case sorts first',
    'a/b/model.safetensors': 'weights',
    'a-b.txt': 'dash',
    'notes.md': 'not part of it',
  };
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  const python =
    'import pathlib, sys; from whetstone.tree_hash import tree_sha256; ' +
    'print(tree_sha256(pathlib.Path(sys.argv[1])))';
  const expected = execFileSync('python3', ['-c', python, folder], {
    encoding: 'utf8',
    env: { ...process.env, PYTHONPATH: join(__dirname, '..', '..', 'trainer-image') },
  });
  expect(await modelDirectorySha256(folder)).toBe(expected.trim());
  writeFileSync(join(folder, 'notes.md'), 'changed');
  expect(await modelDirectorySha256(`${folder}/`)).toBe(expected.trim());
});
