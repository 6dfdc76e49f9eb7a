/** The workflows as a worker loads them, bundled once for all test files and for later runs of the tests. */
import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { DefaultLogger, bundleWorkflowCode, type WorkflowBundle } from '@temporalio/worker';

const ROOT = resolve(__dirname, '..', '..');
const CACHE = join(ROOT, 'node_modules', '.cache', 'whetstone');

let bundle: Promise<WorkflowBundle> | null = null;

/** The bundle of the sources as they are now. Test processes that ask for it first, at the same time, each make it. */
export function workflowBundle(): Promise<WorkflowBundle> {
  bundle ??= cached();
  return bundle;
}

async function cached(): Promise<WorkflowBundle> {
  const path = join(CACHE, `workflows-${sourcesHash()}.js`);
  try {
    return { code: readFileSync(path, 'utf8') };
  } catch {
    const { code } = await bundleWorkflowCode({
      workflowsPath: join(ROOT, 'workflows', 'index.ts'),
      logger: new DefaultLogger('ERROR'),
    });
    mkdirSync(CACHE, { recursive: true });
    const part = `${path}.${process.pid}`;
    writeFileSync(part, code);
    renameSync(part, path);
    return { code };
  }
}

/** Of everything that workflow code may import: the linter forbids the rest. */
function sourcesHash(): string {
  const hash = createHash('sha256');
  for (const folder of ['workflows', 'contracts'])
    for (const name of (readdirSync(join(ROOT, folder), { recursive: true }) as string[]).sort())
      if (name.endsWith('.ts')) hash.update(`${folder}/${name}\0`).update(readFileSync(join(ROOT, folder, name)));
  return hash
    .update(readFileSync(join(ROOT, 'package-lock.json')))
    .digest('hex')
    .slice(0, 16);
}
