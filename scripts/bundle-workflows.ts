/**
 * Bundles the workflows at build time, so that a worker starts without webpack:
 * `node dist/scripts/bundle-workflows.js`, after tsc.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { bundleWorkflowCode } from '@temporalio/worker';
import { WORKFLOW_BUNDLE_PATH } from '../workers/bundle-path';

async function main(): Promise<void> {
  const { code } = await bundleWorkflowCode({ workflowsPath: require.resolve('../workflows') });
  mkdirSync(dirname(WORKFLOW_BUNDLE_PATH), { recursive: true });
  writeFileSync(WORKFLOW_BUNDLE_PATH, code);
  console.log(`workflow bundle: ${(code.length / 1e6).toFixed(2)} MB`);
}

void main();
