import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { projectRoot } from '../contracts/project-root';
import { assembleSeccomp, SECCOMP_ARCHES } from './seccomp';

/**
 * `node dist/sandbox/build-seccomp.js [--check]`: writes the committed filters, their hashes in profile.json, and
 * profile-pod.json, which is profile.json without bubblewrap's own switch against nested user namespaces (it writes to
 * /proc/sys, read-only in a container; the filter refuses them as well). With --check it only says whether they are up
 * to date.
 * @returns names of the files that differ from what `assembleSeccomp` gives (and were written, without `check`).
 */
export function buildSeccomp(check: boolean): string[] {
  const folder = join(projectRoot(), 'sandbox');
  const profilePath = join(folder, 'profile.json');
  const profileText = readFileSync(profilePath, 'utf8');
  let updatedProfile = profileText;
  const differing: string[] = [];
  for (const arch of SECCOMP_ARCHES) {
    const program = assembleSeccomp(arch);
    const name = `seccomp-${arch}.bpf`;
    const path = join(folder, name);
    const digest = createHash('sha256').update(program).digest('hex');
    updatedProfile = updatedProfile.replace(new RegExp(`("file": "${name}", "sha256": ")[0-9a-f]*"`), `$1${digest}"`);
    if (!sameAsFile(path, program)) {
      differing.push(name);
      if (!check) writeFileSync(path, program);
    }
  }
  if (updatedProfile !== profileText) {
    differing.push('profile.json');
    if (!check) writeFileSync(profilePath, updatedProfile);
  }
  const podProfile = Buffer.from(updatedProfile.replace(', "--disable-userns"', ''));
  if (!sameAsFile(join(folder, 'profile-pod.json'), podProfile)) {
    differing.push('profile-pod.json');
    if (!check) writeFileSync(join(folder, 'profile-pod.json'), podProfile);
  }
  return differing;
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
