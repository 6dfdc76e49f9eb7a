import { type CheckResult, resultOf, wholePercent } from '../check';
import { bySeedRange } from '../environment-task';
import { type JudgedVariation, judgementKey, type Judgement } from '../judged-variations';
import { CHECK_LIMITS } from '../limits';

/** The agent's environment has a verdict on a change after at least this many tries. */
export const FEWEST_KNOWN = 4;
/** A change is compared in the environment under test after at least this many tries. */
const FEWEST = 4;
/** At least this many tries must have another verdict, because one may differ by chance. */
const FEWEST_OTHERWISE = 3;
/**
 * A change counts as always accepted if at least this share of its tries succeeds. It counts as always refused if at
 * most one minus this share of its tries succeeds.
 */
const ALWAYS = 0.9;
/** The kinds of answers of the agent's tool to a kind of call are known after this many answers. */
const FEWEST_ANSWERS = 12;
/** Error rate: the share of validations that may report a difference of answers although there is none. */
const BY_CHANCE = 0.01;

/**
 * Checks that changes of a solution are accepted here if the agent's own environment accepts them: other look-ups
 * first, another order, a second try, a greeting. Only changes that do the whole work count, because an environment may
 * require a step.
 */
export function checkAlternatives(judged: readonly JudgedVariation[], target: Judgement): CheckResult {
  const isAccepted = (one: Pick<JudgedVariation, 'change' | 'part'>): boolean => verdictOf(one, target) === 'accepted';
  const known = judged.filter(
    (one) =>
      one.kind !== 'fault' &&
      isAccepted(one) &&
      (one.given === undefined || isAccepted({ change: one.given, part: one.part })),
  );
  return compared(known, ({ succeeded }) => !succeeded, {
    name: 'an accepted way that is refused',
    limit: CHECK_LIMITS.maxWaysRefused,
    sentence: (about, share) => `${about} is refused in ${share} of the cases; the agent's own environment accepts it.`,
    fine: (changes) => `Of ${changes} ways that the agent's own environment accepts, none is refused.`,
  });
}

/**
 * Checks that a fault gets no reward here if the agent's own environment never rewards it. A further call that
 * changes nothing here is none.
 */
export function checkFaults(judged: readonly JudgedVariation[], target: Judgement): CheckResult {
  const known = judged.filter(
    (one) => one.kind !== 'way' && one.wasIdle !== true && verdictOf(one, target) === 'refused',
  );
  return compared(known, ({ succeeded }) => succeeded, {
    name: 'a fault that is paid',
    limit: CHECK_LIMITS.maxFaultsPaid,
    sentence: (about, share) =>
      `${about} succeeds in ${share} of the cases; in the agent's own environment it never does.`,
    fine: (changes) => `Of ${changes} changes that the agent's own environment refuses, none is paid.`,
  });
}

function verdictOf(
  one: Pick<JudgedVariation, 'change' | 'part'>,
  { changes }: Judgement,
): 'accepted' | 'refused' | null {
  const tally = changes.get(judgementKey(one));
  if (tally === undefined || tally.tried < FEWEST_KNOWN) return null;
  const share = tally.succeeded / tally.tried;
  return share >= ALWAYS ? 'accepted' : share <= 1 - ALWAYS ? 'refused' : null;
}

interface Words {
  name: string;
  limit: number;
  sentence: (about: string, share: string) => string;
  fine: (changes: number) => string;
}

/** For each change and range of seeds, compares the share of differing verdicts with the limit. */
function compared(
  known: readonly JudgedVariation[],
  isOtherwise: (one: JudgedVariation) => boolean,
  { name, limit, sentence, fine }: Words,
): CheckResult {
  const groups = [
    ...bySeedRange(known).flatMap(({ tasks }) => [...Map.groupBy(tasks, ({ change }) => change).values()]),
    ...Map.groupBy(
      known.filter((one) => one.said !== undefined),
      ({ said }) => said,
    ).values(),
  ];
  const shares = groups
    .filter((group) => group.length >= FEWEST)
    .map((group) => {
      const otherwise = group.filter(isOtherwise);
      const { about } = otherwise[0] ?? group[0]!;
      return { about, share: otherwise.length / group.length, count: otherwise.length };
    })
    .sort((a, b) => b.share - a.share);
  const bad = shares.filter(({ share, count }) => share > limit && count >= FEWEST_OTHERWISE);
  const sentences = [...new Set(bad.map(({ about, share }) => sentence(about, wholePercent(share))))];
  const changes = new Set(known.map(({ change }) => change)).size;
  const figures = shares[0] ? [{ name, value: shares[0].share, atMost: limit }] : [];
  return resultOf(sentences.slice(0, 3), fine(changes), figures);
}

/**
 * Checks that the tools answer like the agent's tools. If the agent's tool never gives a kind of answer to such a call,
 * the tool must not give it either. It must refuse wrong calls that the agent's tool refuses. A rare answer may be
 * missing on either side by chance. A difference counts when chance explains it in less than `BY_CHANCE` of all
 * validations (Bonferroni over all comparisons).
 */
export function checkToolAnswers(judged: readonly JudgedVariation[], target: Judgement): CheckResult {
  const answered = judged.filter(({ answer }) => answer !== null);
  const comparisons = bySeedRange(answered).flatMap(({ tasks }) =>
    [...Map.groupBy(tasks, ({ change }) => change)].flatMap(([change, group]) => {
      const kinds = target.answers.get(change);
      const total = [...(kinds?.values() ?? [])].reduce((sum, count) => sum + count, 0);
      if (kinds === undefined || total < FEWEST_ANSWERS || group.length < FEWEST) return [];
      return comparedAnswers(group, kinds, total);
    }),
  );
  const problems = comparisons
    .filter(({ matters, chance }) => matters && chance < BY_CHANCE / comparisons.length)
    .sort((a, b) => b.share - a.share);
  return resultOf(
    [...new Set(problems.map(({ sentence }) => sentence))].slice(0, 3),
    `${answered.length} answers to right and wrong calls are of the kinds that the agent's tools give.`,
    [{ name: 'answers of a strange kind', value: problems[0]?.share ?? 0, atMost: CHECK_LIMITS.maxStrangeAnswers }],
  );
}

/** One kind of answer to one kind of change, here and in the agent's own environment. */
interface ComparedAnswers {
  /** Share of the answers on the only side that has this kind; 0 if both sides have it. */
  share: number;
  /** Whether the share is large enough to count. */
  matters: boolean;
  /** Probability that all of them are on that side by chance alone. */
  chance: number;
  sentence: string;
}

function comparedAnswers(
  group: readonly JudgedVariation[],
  kinds: ReadonlyMap<string, number>,
  total: number,
): ComparedAnswers[] {
  const here = Map.groupBy(group, ({ answer }) => answer!);
  return [...new Set([...kinds.keys(), ...here.keys()])].map((answer) => {
    const known = kinds.get(answer) ?? 0;
    const [first, ...others] = here.get(answer) ?? [];
    if (first === undefined) return missingAnswer(answer, group, known, total);
    if (known === 0) return strangeAnswer(answer, first, others.length + 1, group.length, total);
    return { share: 0, matters: false, chance: 1, sentence: '' };
  });
}

function strangeAnswer(
  answer: string,
  { about, seed, observation }: JudgedVariation,
  count: number,
  size: number,
  total: number,
): ComparedAnswers {
  const example = observation === undefined ? '' : ` (${JSON.stringify(observation)})`;
  return {
    share: count / size,
    matters: count / size > CHECK_LIMITS.maxStrangeAnswers,
    chance: allInOneGroup(count, size, total),
    sentence:
      `${about}: ${count} of ${size} calls get ${answer}, as with seed ${seed}${example}; ` +
      `of ${total} calls of the agent's own tool none does.`,
  };
}

function missingAnswer(
  answer: string,
  group: readonly JudgedVariation[],
  known: number,
  total: number,
): ComparedAnswers {
  const { about, seed } = group[0]!;
  return {
    share: known / total,
    matters: known / total >= CHECK_LIMITS.minFrequentAnswer,
    chance: allInOneGroup(known, total, group.length),
    sentence:
      `${about} never gets ${answer} in ${group.length} calls, as with seed ${seed}; ` +
      `of ${total} calls of the agent's own tool ${known} do.`,
  };
}

/**
 * Probability in [0, 1] that all of `count` things fall into a group of `size` when they are dealt by chance to it and
 * to `others` others: the tail of Fisher's exact test when one of its cells is empty (Fisher 1935, The Design of
 * Experiments). `count` is at most `size`.
 */
function allInOneGroup(count: number, size: number, others: number): number {
  let probability = 1;
  for (let dealt = 0; dealt < count; dealt++) probability *= (size - dealt) / (size + others - dealt);
  return probability;
}
