import type { Experiment } from '../../../contracts/artifacts/experiment';
import type { Identification } from '../../../contracts/artifacts/identification';
import { failedText } from '../../../contracts/failed-episodes';
import { count, duration, plural } from '../../html/format';
import { markup, type Markup } from '../../html/markup';
import { dataTable } from '../../html/table';
import { candidateName } from './identification-details';

/** Chance that any candidate without a gap and without an effect is kept, by all tests together. */
export const keepError = ({ rule, experiments }: Identification): number =>
  (experiments === undefined ? 2 : 3) * rule.familywiseError;

const FINDINGS: Record<Experiment['finding'], string> = {
  effect: 'an effect',
  'no-effect': 'none',
  undecided: 'undecided',
};

/** The experiments with the steps of candidates, and why there were none. Null if the labels left nothing open. */
export function experimentBlock(identification: Identification): Markup | null {
  const { contrasts, experiments } = identification;
  const made = contrasts.flatMap(({ capabilityId, partial: { experiment } }) =>
    experiment === undefined ? [] : [{ capabilityId, ...experiment }],
  );
  const none = contrasts.flatMap(({ capabilityId, partial: { noExperiment } }) =>
    noExperiment === undefined ? [] : [{ capabilityId, noExperiment }],
  );
  if (made.length + none.length === 0) return null;
  const lost = experiments?.failed ? `, of which ${failedText(experiments.failed)} and are in no pair,` : '';
  const passed = (passes: number, pairs: number) => `${count(passes)} of ${count(pairs)}`;
  return markup`<div id="experiments">
    ${
      experiments !== undefined &&
      markup`<p>
        Where the labels did not tell whether a candidate has an effect of its own, rollouts of the base model tried its
        step, in pairs of the same task: ${plural(experiments.rollouts, 'rollout')}${lost} in ${duration(experiments.seconds)},
        at most ${count(experiments.budget)} (<code>identify.experimentRollouts</code>). Forced: the solution's call was
        put in as the agent's own action. Forbidden: the call was not carried out, and the agent sampled again.
      </p>`
    }
    ${
      made.length > 0 &&
      dataTable({
        head: ['Candidate', 'Step', 'Put in on both sides', 'Tasks', 'Changed', 'With it', 'Without it', 'Effect'],
        rows: made.map((one) => [
          candidateName(identification, one.capabilityId),
          markup`<code>${one.tools.join(', ')}</code> ${one.step}`,
          one.held.join(', ') || '–',
          count(one.tasks),
          passed(one.intervened, one.pairs),
          passed(one.passedWith, one.pairs),
          passed(one.passedWithout, one.pairs),
          FINDINGS[one.finding],
        ]),
      })
    }
    ${
      none.length > 0 &&
      markup`<ul class="reasons">
        ${none.map(
          ({ capabilityId, noExperiment }) =>
            markup`<li>
              <strong>${candidateName(identification, capabilityId)}.</strong> No experiment: ${noExperiment}.
            </li>`,
        )}
      </ul>`
    }
  </div>`;
}
