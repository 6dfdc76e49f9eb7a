import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Writes an agent.yaml whose run can be started with fakes of the activities, and returns its path. */
export function writeSmallAgent(folder: string, name = 'desk'): string {
  writeFileSync(join(folder, 'env.py'), '');
  const path = join(folder, 'agent.yaml');
  writeFileSync(
    path,
    `version: 1
name: ${name}
environment: { path: env.py, trainSeeds: { start: 0, count: 100 }, heldOutSeeds: { start: 1000, count: 100 } }
model: { name: base, baseUrl: 'http://127.0.0.1:1/v1' }
`,
  );
  return path;
}
