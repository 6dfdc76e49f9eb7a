import { executeChild, setCurrentDetails, workflowInfo } from '@temporalio/workflow';
import type { ArtifactRef } from '../../contracts/artifacts/artifact-ref';
import type {
  ContrastResult,
  DiscoveryResult,
  IdentifyInput,
  IdentifyResult,
  LabelChunkResult,
  TallyResult,
} from '../../contracts/messages/identify-stage';
import { childWorkflowId, WORKFLOWS } from '../../contracts/names';
import { llm, sandbox } from '../shared/activities';
import { applicationFailureOf } from '../shared/failure-causes';
import { NOTHING_LABELLED, addLabels, type labelChunks } from './label-chunks';
import { cleanMarkdown } from '../../contracts/clean-text';
import { OperatorGate, reportStatus, takeAnswers } from '../waits/operator-gate';

/**
 * Finds the capabilities that an agent lacks: discovers candidates, labels them, contrasts failures with successes
 * (paper, section 2). Labelling runs go one after the other. Each asks only about candidates whose verdict the
 * remaining runs can still change. Experiments follow where the labels leave a question open. Waits for a person when
 * the analyst refuses.
 */
export async function identifyCapabilities(given: IdentifyInput): Promise<IdentifyResult> {
  const input = { ...given };
  const stage = openStage(input);
  const discovery = await stage.perform(() =>
    llm.discoverCandidates.executeWithOptions({ summary: 'discover candidates' }, [input]),
  );
  if (discovery.pooled) input.collected = discovery.pooled.rollouts;
  const runs: LabellingRun[] = [];
  let open = discovery.count > 0 ? discovery.candidates : null;
  while (open !== null) {
    const run = await labelCandidates(stage, discovery, open, runs);
    stage.report(run.tallied.note);
    runs.push(run);
    open = run.tallied.open;
  }
  const contrast = (after: string, experiments?: ArtifactRef): Promise<ContrastResult> =>
    stage.perform(() => {
      const { context, collected, independent, measures } = input;
      return llm.contrastCapabilities.executeWithOptions({ summary: `contrast after ${after}` }, [
        {
          context,
          trajectories: collected.trajectories,
          discovery,
          tally: runs.at(-1)?.tallied.tally ?? null,
          totals: runs.map(({ labelled }) => labelled).reduce(addLabels, NOTHING_LABELLED),
          ...(independent && { independent }),
          ...(measures && { measures }),
          ...(experiments && { experiments }),
        },
      ]);
    });
  const { questions, ...identified } = await contrast(`${runs.length} labelling runs`);
  if (questions === undefined) return identified;
  const experiments = await stage.perform(() =>
    sandbox.playExperiments.executeWithOptions({ summary: 'experiments with the steps of candidates' }, [
      { context: input.context, questions },
    ]),
  );
  return contrast('experiments', experiments);
}

/** The shared parts of one identification's steps. */
interface Stage {
  input: IdentifyInput;
  /** Runs a step until it succeeds, and waits for a person if it needs one. */
  perform: <T>(step: () => Promise<T>) => Promise<T>;
  /** Shows a line in the details of this workflow. */
  report: (text: string) => void;
}

interface LabellingRun {
  labelled: LabelChunkResult;
  tallied: TallyResult;
}

/**
 * From this call on, the workflow handles the signals `retry` and `skip`. The context of `input` changes with its spec.
 */
function openStage(input: IdentifyInput): Stage {
  const { context, independent } = input;
  const runId = workflowInfo().parent?.workflowId;
  const lines: string[] = [];
  const gate = new OperatorGate({
    key: 'identify',
    commands: () => `Then: whet retry ${context.runId}`,
    show: async (status) => {
      if (runId !== undefined) await reportStatus(runId, status);
    },
  });
  takeAnswers(gate, input);
  return {
    input,
    report: (text) => {
      lines.push(`- ${cleanMarkdown(text)}`);
      setCurrentDetails(lines.join('\n'));
    },
    // An identification cannot continue without its labels, so no step can be skipped. Nobody answers for a study, so
    // it fails with the reason.
    perform: (step) => (independent ? step() : gate.runUntilDone(step)),
  };
}

/** One labelling run, from its plan to its tally. `before` holds the earlier runs. */
async function labelCandidates(
  { input, perform }: Stage,
  discovery: DiscoveryResult,
  candidates: ArtifactRef,
  before: readonly LabellingRun[],
): Promise<LabellingRun> {
  const { collected, independent, measures } = input;
  const run = before.length;
  const plan = await perform(() =>
    llm.planLabels.executeWithOptions({ summary: `plan labelling run ${run + 1}` }, [
      { ...input, candidates, run: (independent?.firstRun ?? 0) + run },
    ]),
  );
  const labelAndTally = async (): Promise<LabellingRun> => {
    const { context } = input;
    const labelling = { context, plan, trajectories: collected.trajectories, candidates };
    const labelled = await executeChild<typeof labelChunks>(WORKFLOWS.labelChunks, {
      workflowId: (measures ? childWorkflowId.labelsServed : childWorkflowId.labels)(context.runId, run),
      staticSummary: `labelling run ${run + 1}: ${plan.calls} labels in ${plan.chunks} chunks`,
      args: [{ ...labelling, cursor: 0, totals: NOTHING_LABELLED }],
    });
    const tallied = await llm.tallyRun.executeWithOptions({ summary: `tally labelling run ${run + 1}` }, [
      {
        ...labelling,
        run,
        discovered: discovery.candidates,
        totals: labelled,
        previous: before.at(-1)?.tallied.tally ?? null,
      },
    ]);
    return { labelled, tallied };
  };
  // Both are one step: after too many unlabelled pairs, a retry must ask for those pairs again.
  return perform(() => repeatAfterLoss(labelAndTally));
}

/** Asks again, without a person, for labels that were lost with a damaged line. */
async function repeatAfterLoss<T>(label: () => Promise<T>): Promise<T> {
  for (let repeats = 0; ; repeats++) {
    try {
      return await label();
    } catch (error) {
      if (repeats === 2 || applicationFailureOf(error)?.type !== 'Identify.LabelsLost') throw error;
    }
  }
}
