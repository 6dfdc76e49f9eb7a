import { LONGEST_ID, type Outcome } from '../../contracts/artifacts/conversation';
import { startOf } from '../../contracts/clean-text';
import type { Scored } from '../fragment';
import { type PassRule, shownValue, type Verdict, verdictOf, verdictUnder } from './outcome-value';
import type { Scales } from './scales';

/** What the scores of one conversation say: an outcome and the scores that decided it, or why there is none. */
export type Decided = { outcome: Outcome; by: readonly Scored[] } | { reason: string; example: string | null };

/**
 * Decides the outcome of a conversation. An owner's file counts more than the traces. A rule chooses the score; without
 * one, the latest value of each score is read, and all must agree.
 * @param at time of the ingest, ISO 8601.
 * @param scales of all scores: where one is not from 0 to 1, only a rule can tell what its values mean.
 */
export function decided(scores: readonly Scored[], rule: PassRule | null, at: string, scales: Scales): Decided {
  const ofFile = scores.filter(({ from }) => from === 'file');
  const counted = latest(ofFile.length > 0 ? ofFile : scores);
  const conversation = scores[0]?.conversation ?? '';
  const outcome = (from: Outcome['from'], { success, reward }: Verdict, by: readonly Scored[]): Decided => ({
    outcome: { conversation, success, reward, from, why: startOf(by.map(told).join(', '), LONGEST_ID), at },
    by,
  });
  const chosen = counted.find(({ name }) => name === rule?.name);
  if (rule !== null && chosen !== undefined) {
    const verdict = verdictUnder(rule, chosen.value);
    return verdict === null ? unclear(chosen) : outcome(chosen.from === 'file' ? 'file' : 'rule', verdict, [chosen]);
  }
  if (rule !== null && ofFile.length === 0)
    return { reason: `no score '${shownValue(rule.name)}', which --pass names`, example: null };
  const verdicts = counted.map((score) => ({
    score,
    verdict: scales.isOther(score) ? null : verdictOf(score.value, score.passesFrom),
  }));
  const [first, ...others] = verdicts.flatMap(({ score, verdict }) => (verdict === null ? [] : { score, verdict }));
  if (first === undefined) return unclear(counted[0]);
  if (others.some(({ verdict }) => verdict.success !== first.verdict.success))
    return {
      reason: `scores disagree (${[first, ...others]
        .map(({ score }) => shownValue(score.name))
        .sort()
        .join(', ')}): choose one with --pass`,
      example: null,
    };
  const all = [first, ...others];
  const reward = all.reduce((sum, { verdict }) => sum + verdict.reward, 0) / all.length;
  return outcome(
    first.score.from,
    { success: first.verdict.success, reward },
    all.map(({ score }) => score),
  );
}

const told = ({ name, value }: Scored): string => `${shownValue(name)}: ${shownValue(value)}`;

/** A value that means neither. The example is not part of the reason, so that many values are one reason. */
const unclear = (score: Scored | undefined): Decided => ({
  reason: `'${shownValue(score?.name)}' has values that mean neither pass nor fail: choose with --pass`,
  example: shownValue(score?.value),
});

/** Of each name the last one: by their times where all have one, as an export may begin with the newest. */
function latest(scores: readonly Scored[]): Scored[] {
  const times = scores.flatMap(({ at }) => at ?? []);
  const ordered =
    times.length < scores.length
      ? scores
      : scores.toSorted(({ at: a }, { at: b }) => (a === b ? 0 : String(a) < String(b) ? -1 : 1));
  return [...new Map(ordered.map((score) => [score.name, score] as const)).values()];
}
