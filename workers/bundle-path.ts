import { join } from 'node:path';

/** Where the build puts the workflow bundle: `dist/workflow-bundle.js`, next to the directory of the compiled file. */
export const WORKFLOW_BUNDLE_PATH = join(__dirname, '..', 'workflow-bundle.js');
