/**
 * Writes the generated documents (`npm run docs`), or with `--check` exits 1 when a file differs (`npm run
 * docs:check`). Run from the repository's root.
 */
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { generatedDocuments } from './generated-documents';

async function main(check: boolean): Promise<number> {
  const stale: string[] = [];
  for (const [path, content] of Object.entries(generatedDocuments())) {
    if ((await readFile(path, 'utf8').catch(() => null)) === content) continue;
    stale.push(path);
    if (check) continue;
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, content);
  }
  if (stale.length === 0) console.log('generated documents: up to date');
  else console.log(check ? `out of date: ${stale.join(', ')}. Run: npm run docs` : `written: ${stale.join(', ')}`);
  return check && stale.length > 0 ? 1 : 0;
}

void main(process.argv.includes('--check')).then((code) => (process.exitCode = code));
