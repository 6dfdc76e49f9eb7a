import type { Experiments } from '../../../contracts/artifacts/experiment';
import type { Contrast } from '../../../contracts/artifacts/identification';
import { verdictReason } from '../verdicts/verdict-reason';
import type { VerdictRule } from '../verdicts/verdict-rule';
import { groupsOf } from './experiment-questions';

/**
 * Changes the verdicts by what experiments found. An effect keeps a candidate. One without an effect of its own is
 * rejected, but not the last of candidates that are lacking together: their failures need a cause. Where an experiment
 * decides nothing, the verdict stays.
 * @param without why a candidate that the labels leave open has no experiment, by id.
 */
export function withExperiments(
  contrasts: readonly Contrast[],
  { experiments }: Pick<Experiments, 'experiments'>,
  without: ReadonlyMap<string, string>,
  rule: VerdictRule,
): Contrast[] {
  const results = new Map(experiments.map(({ capabilityId, result }) => [capabilityId, result]));
  const groups = groupsOf(contrasts);
  const noted = contrasts.map((contrast): Contrast => {
    const result = results.get(contrast.capabilityId);
    const none = result !== undefined && 'none' in result ? result.none : without.get(contrast.capabilityId);
    if (none !== undefined) return { ...contrast, partial: { ...contrast.partial, noExperiment: none } };
    if (result === undefined || 'none' in result) return contrast;
    return { ...contrast, partial: { ...contrast.partial, experiment: result } };
  });
  const findingOf = ({ partial }: Contrast) => partial.experiment?.finding;
  const isCause = (contrast: Contrast) =>
    findingOf(contrast) === 'effect' || (contrast.kept && findingOf(contrast) !== 'no-effect');
  return noted.map((contrast, c): Contrast => {
    if (contrast === contrasts[c]) return contrast;
    const others = noted.filter((_, other) => other !== c && groups[other] === groups[c]);
    const changed = ((): Contrast => {
      if (findingOf(contrast) === 'effect')
        return { ...contrast, verdict: 'kept', missed: [], kept: true, moreFailures: null };
      if (findingOf(contrast) === 'no-effect' && (others.length === 0 || others.some(isCause)))
        return { ...contrast, verdict: 'rejected', missed: ['effect'], kept: false, moreFailures: null };
      return contrast;
    })();
    return { ...changed, reason: verdictReason(changed, rule) };
  });
}
