import { executeChild, setCurrentDetails } from '@temporalio/workflow';
import { childWorkflowId, WORKFLOWS } from '../contracts/names';
import type { ArtifactRef } from '../contracts/artifacts/artifact-ref';
import type { IdentifyResult, StudyInput, StudyResult } from '../contracts/messages/identify-stage';
import { orchestration } from './activities';
import type { identifyCapabilities } from './identify-capabilities';

/** Identifications under way at once: they share the analyst, so this only hides the time that discovery takes. */
const LANES = 3;

/** Identifies again and again from the same trajectories, independently, and compares (paper, figure 2). */
export async function studyStability(input: StudyInput): Promise<StudyResult> {
  const { studyId, identifications } = input;
  const plan = await orchestration.prepareStudy(input);
  const { context, collected } = plan;
  const results: IdentifyResult[] = [];
  let next = 0;
  const lane = async (): Promise<void> => {
    while (next < identifications) {
      const i = next++;
      results[i] = await executeChild<typeof identifyCapabilities>(WORKFLOWS.identifyCapabilities, {
        workflowId: childWorkflowId.studied(studyId, i),
        staticSummary: `identification ${i + 1} of ${identifications}`,
        // Its own discovery batches and its own labels: the seed chooses the former, the labelling run the latter.
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
  await Promise.all(Array.from({ length: LANES }, lane));
  let recorded: ArtifactRef | null = null;
  for (const [i, { identification, labels }] of results.entries()) {
    recorded = await orchestration.recordIdentification({
      plan,
      seed: context.seed + i,
      identified: { identification, labels },
      previous: recorded,
    });
  }
  return orchestration.renderStudy({ plan, recorded: recorded as ArtifactRef });
}
