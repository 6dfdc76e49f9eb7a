import type { LlmActivities } from '../../contracts/messages/activities';
import { contrastCapabilities } from './contrast-capabilities';
import { discoverCandidates } from './discover';
import { openDocuments, type IdentifyDeps } from './documents';
import { labelChunk } from './label-chunk';
import { planLabels } from './plan-labels';
import { tallyRun } from './tally-run';

export type { IdentifyDeps } from './documents';

/** Activities of the identify stage (paper, section 2). */
export function createIdentifyActivities(deps: IdentifyDeps): Omit<LlmActivities, 'synthesiseEnvironment'> {
  const documents = openDocuments(deps);
  return {
    discoverCandidates: (input) => discoverCandidates(documents, input),
    planLabels: (input) => planLabels(documents, input),
    labelChunk: (input) => labelChunk(documents, input),
    tallyRun: (input) => tallyRun(documents, input),
    contrastCapabilities: (input) => contrastCapabilities(documents, input),
  };
}
