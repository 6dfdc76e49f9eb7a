import { executeChild, setCurrentDetails } from '@temporalio/workflow';
import type { ArtifactRef } from '../../contracts/artifacts/artifact-ref';
import type { IdentifyResult, StudyInput, StudyPlan, StudyResult } from '../../contracts/messages/identify-stage';
import { childWorkflowId, WORKFLOWS } from '../../contracts/names';
import { orchestration } from '../shared/activities';
import { nameInSummary } from '../shared/single-line';
import type { identifyCapabilities } from '../stages/identify-capabilities';

/**
 * Number of identifications that run in parallel. They share the analyst; a second and third only use its idle time.
 */
const CONCURRENT_IDENTIFICATIONS = 3;

/** Identifies several times from the same trajectories, independently, and compares the results (paper, figure 2). */
export async function studyStability(input: StudyInput): Promise<StudyResult> {
  const plan = await orchestration.prepareStudy.executeWithOptions(
    { summary: `study of ${nameInSummary(input.agent)}` },
    [input],
  );
  const identified = await identifyRepeatedly(plan, input);
  const recorded = await recordInOrder(plan, identified);
  return orchestration.renderStudy.executeWithOptions({ summary: 'write the study page' }, [{ plan, recorded }]);
}

/** The results of all identifications, by their number. */
async function identifyRepeatedly(
  { context, collected }: StudyPlan,
  { studyId, identifications }: StudyInput,
): Promise<IdentifyResult[]> {
  const results: IdentifyResult[] = [];
  let next = 0;
  const identifyRemaining = async (): Promise<void> => {
    while (next < identifications) {
      const i = next++;
      results[i] = await executeChild<typeof identifyCapabilities>(WORKFLOWS.identifyCapabilities, {
        workflowId: childWorkflowId.studied(studyId, i),
        staticSummary: `identification ${i + 1} of ${identifications}`,
        // The seed gives each identification its own discovery batches, and the number of its labelling run gives it
        // its own labels.
        args: [
          {
            context: { ...context, runId: `${studyId}.${i}`, seed: context.seed + i },
            collected,
            independent: { firstRun: i },
          },
        ],
      });
      setCurrentDetails(`${results.filter(Boolean).length} of ${identifications} identifications`);
    }
  };
  await Promise.all(Array.from({ length: CONCURRENT_IDENTIFICATIONS }, identifyRemaining));
  return results;
}

/** Records the identifications one after the other. Returns the reference of the whole record. */
async function recordInOrder(plan: StudyPlan, results: IdentifyResult[]): Promise<ArtifactRef> {
  let recorded: ArtifactRef | null = null;
  for (const [i, { identification, labels }] of results.entries()) {
    recorded = await orchestration.recordIdentification.executeWithOptions(
      { summary: `record identification ${i + 1} of ${results.length}` },
      [{ plan, seed: plan.context.seed + i, identified: { identification, labels }, previous: recorded }],
    );
  }
  return recorded as ArtifactRef;
}
