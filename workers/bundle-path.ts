import { join } from 'node:path';

/**
 * Where the build leaves the workflow bundle: `dist/workflow-bundle.js`. The compiled copy of this file lies in
 * `dist/workers`.
 */
export const WORKFLOW_BUNDLE_PATH = join(__dirname, '..', 'workflow-bundle.js');
