import type { ArtifactRef } from '../../../contracts/artifacts/artifact-ref';
import { type Experiments, experimentsSchema } from '../../../contracts/artifacts/experiment';
import type { Contrast } from '../../../contracts/artifacts/identification';
import type { AgentSpec } from '../../../contracts/config/agent-spec';
import type { ContrastInput } from '../../../contracts/messages/identify-stage';
import { getJson, layout, putJson } from '../../../store';
import type { IdentifyArtifacts } from '../identify-artifacts';
import type { VerdictRule } from '../verdicts/verdict-rule';
import { withExperiments } from './apply-experiments';
import { experimentQuestions, type LabelledRun } from './experiment-questions';

/** The contrasts, and the experiments behind them. */
interface TriedCandidates {
  contrasts: Contrast[];
  /** Questions that are still to be tried; the contrasts are not final. */
  questions?: ArtifactRef;
  /** The experiments that were played. */
  experiments?: Experiments;
}

/**
 * Corrects the verdicts by experiments, or asks for experiments where the labels leave a verdict open. Experiments are
 * played with the base model. So studies make none, nor nights that examine the active version, nor ablations.
 */
export async function tryCandidates(
  { store }: Pick<IdentifyArtifacts, 'store'>,
  { context, independent, measures, experiments: ref }: ContrastInput,
  contrasts: readonly Contrast[],
  labelled: Omit<LabelledRun, 'budget' | 'seed' | 'rule'> & { rule: VerdictRule },
  { experimentRollouts: budget, arm }: AgentSpec['identify'],
): Promise<TriedCandidates> {
  if (independent || measures || budget === 0 || arm !== 'contrast') return { contrasts: [...contrasts] };
  const { questions, without } = experimentQuestions(contrasts, { ...labelled, budget, seed: context.seed });
  if (ref !== undefined) {
    const experiments = await getJson(store, ref, experimentsSchema);
    return { contrasts: withExperiments(contrasts, experiments, without, labelled.rule), experiments };
  }
  const noted = withExperiments(contrasts, { experiments: [] }, without, labelled.rule);
  if (questions.length === 0) return { contrasts: noted };
  return {
    contrasts: noted,
    questions: await putJson(store, layout.capabilities(context.runId), 'experiment-questions.json', questions),
  };
}
