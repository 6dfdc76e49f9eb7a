import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { paidBy } from '../activities/environment';
import { certificateOf } from '../activities/environment-checks/certificate';
import { runChecks } from '../activities/environment-checks/run-checks';
import { readTargetProfile } from '../activities/environment-checks/target-profile';
import { environmentOpener } from '../activities/rollout/player';
import { isUnsafeAllowed, openEnvironment } from '../sandbox';
import { writeLine } from './output';
import { readAgent } from './read-agent';

/**
 * Makes every check of an environment that needs no model. Writes each check as it ends, then the certificate. Returns
 * whether all passed. Throws SandboxError, and Error when agent.yaml or a source cannot be read.
 */
export async function checkEnvironment(file: string, agentPath: string): Promise<boolean> {
  const { spec, environment: owned } = await readAgent(agentPath);
  const source = readFileSync(file, 'utf8');
  const { signal } = new AbortController();
  const target = await readTargetProfile({
    openEnvironment: environmentOpener(openEnvironment),
    environment: paidBy(owned.source, null),
    spec: spec.environment,
    signal,
  });
  const validation = await runChecks({
    openEnvironment,
    environment: { source, trust: 'synthesised', name: file },
    target,
    settings: spec.certificate,
    signal,
    onCheck: (check, done, total) => writeLine({ type: 'check', done, total, check }),
  });
  const sha256 = createHash('sha256').update(source).digest('hex');
  const facts = {
    capability: file,
    source: { sha256, bytes: Buffer.byteLength(source) },
    isolation: isUnsafeAllowed() ? 'unsafe' : 'jail',
    settings: spec.certificate,
  };
  writeLine({ type: 'certificate', certificate: certificateOf(facts, validation) });
  return validation.passed;
}
