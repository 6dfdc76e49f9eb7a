import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { projectRoot } from '../contracts/project-root';
import { assembleSeccomp, SECCOMP_ARCHES, SECCOMP_KINDS } from './seccomp';

/**
 * `node dist/sandbox/build-seccomp.js [--check]`: writes the committed filters, their hashes in profile.json,
 * owner-profile.json and program-profile.json, and profile-pod.json. The latter is profile.json without bubblewrap's
 * own switch against nested user namespaces. That switch writes to /proc/sys, which is read-only in a container; the
 * filter refuses nested namespaces as well. With --check it only reports whether they are up to date.
 * @returns names of the files that differ from the result of `assembleSeccomp`; without `check` they were written.
 */
export function buildSeccomp(check: boolean): string[] {
  const folder = join(projectRoot(), 'sandbox');
  const read = (name: string): string => readFileSync(join(folder, name), 'utf8');
  const wanted = new Map<string, string | Buffer>();
  const profiles = { generated: ['profile.json'], owner: ['owner-profile.json', 'program-profile.json'] } as const;
  for (const kind of SECCOMP_KINDS) {
    const texts = new Map<string, string>(profiles[kind].map((name) => [name, read(name)]));
    for (const arch of SECCOMP_ARCHES) {
      const program = assembleSeccomp(arch, kind);
      const name = `seccomp-${kind === 'owner' ? 'owner-' : ''}${arch}.bpf`;
      const digest = createHash('sha256').update(program).digest('hex');
      wanted.set(name, program);
      const hash = new RegExp(`("file": "${name}",\\s*"sha256": ")[0-9a-f]*"`);
      for (const [file, text] of texts) texts.set(file, text.replace(hash, `$1${digest}"`));
    }
    for (const [file, text] of texts) wanted.set(file, text);
  }
  wanted.set('profile-pod.json', (wanted.get('profile.json') as string).replace(', "--disable-userns"', ''));
  const differing = [...wanted].filter(([name, content]) => !sameAsFile(join(folder, name), Buffer.from(content)));
  if (!check) for (const [name, content] of differing) writeFileSync(join(folder, name), content);
  return differing.map(([name]) => name);
}

function sameAsFile(path: string, content: Buffer): boolean {
  try {
    return readFileSync(path).equals(content);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw error;
  }
}

if (require.main === module) {
  const check = process.argv.includes('--check');
  const differing = buildSeccomp(check);
  for (const name of differing) process.stdout.write(`sandbox/${name} ${check ? 'is out of date' : 'written'}\n`);
  if (check && differing.length > 0) process.exitCode = 1;
}
