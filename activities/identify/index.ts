import type { LlmActivities } from '../../contracts/messages/activities';
import { contrastCapabilities } from './contrast-capabilities';
import { discoverCandidates } from './discover-candidates';
import { openIdentifyArtifacts, type IdentifyDeps } from './identify-artifacts';
import { labelChunk } from './label-chunk';
import { planLabels } from './plan-labels';
import { tallyRun } from './tally-run';

export { playExperiments } from './experiments/play-experiments';
export type { IdentifyDeps } from './identify-artifacts';

/** The activities of the identify stage (paper, section 2), each in its own file. */
export function createIdentifyActivities(
  deps: IdentifyDeps,
): Omit<LlmActivities, 'synthesiseEnvironment' | 'readEnvironment'> {
  const artifacts = openIdentifyArtifacts(deps);
  return {
    discoverCandidates: (input, repetition) => discoverCandidates(artifacts, input, repetition),
    planLabels: (input, repetition) => planLabels(artifacts, input, repetition),
    labelChunk: (input) => labelChunk(artifacts, input),
    tallyRun: (input) => tallyRun(artifacts, input),
    contrastCapabilities: (input) => contrastCapabilities(artifacts, input),
  };
}
