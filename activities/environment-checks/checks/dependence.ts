import { setImmediate } from 'node:timers/promises';
import { type EventCount, fisherExact } from '../../../contracts/statistics/exact-tails';
import { type CheckResult, resultOf, wholePercent } from '../check';
import { isAbove } from '../beyond-chance';
import { fitDecisionTree } from '../decision-tree';
import { type Decision, type DecisionContext, decisionsOf, thresholdsOf } from '../decisions';
import { allAndBySeedRange } from '../environment-task';
import type { KnownArguments } from '../known-sources';
import { CHECK_LIMITS } from '../limits';
import { numberOpenings } from '../opening-model';
import { type SolvedOpening, valueWords } from '../solution-forms';
import type { SolvedTask } from '../solved-tasks';
import { type Foretelling, foretellingErrors, trustedVerdict, type Verdict } from '../step-verdicts';

/** A decision is learnt if the agent's solutions have at least this many with the step, and as many without it. */
const FEWEST_OF_EACH = 5;
/** A decision is compared if the agent's solutions know at least this share of what was seen. */
const FAMILIAR = 0.8;
const FORETELLING: Foretelling = { fit: fitDecisionTree, sure: 0.75, mostErrors: 0.04 };
/** A fact is known if at least this many of the agent's decisions have it. */
const FEWEST_WITH_FACT = 2;
/** The answers decide if a model that knows them makes less than this share of the errors of one that does not. */
const MOST_ERRORS_OF_REQUEST = 0.5;
/** The share of comparisons in which chance alone makes such a difference from the agent's solutions. */
const BY_CHANCE = 0.01;

/** A decision in the agent's solutions, with the place of its task among them. */
interface OwnDecision extends Decision {
  task: number;
}

/** A step that follows on the answer of a tool, or not, and how the agent's solutions foretell it. */
interface LearntStep {
  tool: string;
  step: string;
  verdict: Verdict;
  features: ReadonlyMap<string, number>;
  /** The agent's own tasks with the decision, and those in which a model learnt from other decisions errs. */
  own: EventCount;
  /** What decides, as a part of a sentence. */
  reason: string;
}

/**
 * Checks that the same observations are followed by the same steps as in the agent's own solutions: if only pending
 * orders are cancelled there, shipped ones are not cancelled here. Which facts decide is learnt from the agent's
 * solutions. A step that these facts do not foretell there is not judged. Heartbeats can be sent between steps.
 */
export async function checkDependence(
  tasks: readonly SolvedTask[],
  solved: readonly SolvedOpening[],
  known: KnownArguments,
  speaking: ReadonlySet<string>,
): Promise<CheckResult> {
  const values = valueWords([...solved, ...tasks], speaking);
  const context: DecisionContext = { known, speaking, values, thresholds: thresholdsOf(solved) };
  const decisions: OwnDecision[] = [];
  for (const [task, solution] of solved.entries()) {
    decisions.push(...decisionsOf(solution, context).map((decision) => ({ ...decision, task })));
    await setImmediate();
  }
  const learnt = await learnSteps(decisions, speaking);
  const compared = allAndBySeedRange(
    tasks.map((task) => ({ seed: task.seed, decisions: decisionsOf(task, context) })),
  ).flatMap(({ name, tasks: inRange }) =>
    learnt.map((one) => {
      const limit = CHECK_LIMITS.maxOtherDecisions + one.own.events / one.own.trials;
      return { name, ...one, ...compareStep(one, inRange), limit };
    }),
  );
  const bad = compared.filter(
    ({ count, of, limit, own }) =>
      isAbove(count, of, limit) && fisherExact({ events: count, trials: of }, own) < BY_CHANCE,
  );
  const worst = [...compared].sort((a, b) => b.count / Math.max(1, b.of) - a.count / Math.max(1, a.of))[0];
  const sentences = bad
    .sort((a, b) => b.count / b.of - a.count / a.of)
    .map(({ name, tool, step, reason, count, of, example }) => {
      const [here, there] = example!.expected ? ['does not follow', 'follows'] : ['follows', 'does not follow'];
      return (
        `After ${tool}, ${step} follows otherwise than in the agent's solutions in ${wholePercent(count / of)} of ` +
        `${of} tasks ${name}: at seed ${example!.seed} it ${here}, and there it ${there} on the same observations (${reason}).`
      );
    });
  return resultOf(
    [...new Set(sentences)],
    `${learnt.length} decisions of the agent's solutions were learnt; they fall alike in ${tasks.length} tasks.`,
    worst === undefined || worst.of === 0
      ? []
      : [
          {
            name: `tasks in which ${worst.step} follows otherwise`,
            value: worst.count / worst.of,
            atMost: worst.limit,
          },
        ],
  );
}

/** A step begins with the name of its tool. */
const toolOfStep = (step: string): string => step.slice(0, step.search(/[^\w-]|$/));

/** Learns from the agent's decisions which steps follow on which answers. */
async function learnSteps(decisions: readonly OwnDecision[], speaking: ReadonlySet<string>): Promise<LearntStep[]> {
  const learnt: LearntStep[] = [];
  for (const [tool, some] of Map.groupBy(decisions, (decision) => decision.tool)) {
    const counts = new Map<string, number>();
    for (const fact of some.flatMap(({ request, answers }) => [...request, ...answers]))
      counts.set(fact, (counts.get(fact) ?? 0) + 1);
    const isKnown = (fact: string): boolean => counts.get(fact)! >= FEWEST_WITH_FACT;
    const all = numberOpenings(some.map(({ request, answers }) => new Set([...request, ...answers].filter(isKnown))));
    const asked = numberOpenings(some.map(({ request }) => new Set([...request].filter(isKnown))));
    for (const step of new Set(some.flatMap(({ steps }) => [...steps]))) {
      await setImmediate();
      const has = some.map(({ steps }) => steps.has(step));
      const yes = has.filter(Boolean).length;
      if (Math.min(yes, has.length - yes) < FEWEST_OF_EACH) continue;
      // An environment may end before the answer, and may ask for other words.
      if (speaking.has(toolOfStep(step))) continue;
      const model = trustedVerdict(all.rows, has, all.features.size, FORETELLING);
      if (model === null) continue;
      const [withAnswers, without] = [all, asked].map(({ rows, features }) =>
        foretellingErrors(rows, has, features.size, FORETELLING.fit),
      );
      // A step that follows from the request alone is compared by the check `solutions`.
      if (withAnswers! >= MOST_ERRORS_OF_REQUEST * without!) continue;
      const own = tasksWithErrors(some, has, model.said);
      const reason = reasonOf(some, has, isKnown);
      learnt.push({ tool, step, verdict: model.verdict, features: all.features, own, reason });
    }
  }
  return learnt;
}

/** The tasks of decisions that a model foretells, and those in which it errs. */
function tasksWithErrors(
  decisions: readonly OwnDecision[],
  has: readonly boolean[],
  said: readonly (boolean | null)[],
): EventCount {
  const foretold = decisions.flatMap(({ task }, place) =>
    said[place] === null ? [] : [{ task, isWrong: said[place] !== has[place] }],
  );
  const wrong = foretold.filter(({ isWrong }) => isWrong);
  return {
    events: new Set(wrong.map(({ task }) => task)).size,
    trials: new Set(foretold.map(({ task }) => task)).size,
  };
}

/** The known part of an answer that tells most about a step, with the share of decisions that have the step. */
function reasonOf(decisions: readonly Decision[], has: readonly boolean[], isKnown: (fact: string) => boolean): string {
  const shareOf = (some: readonly boolean[]): number => some.filter(Boolean).length / Math.max(1, some.length);
  const facts = new Set(decisions.flatMap(({ answers }) => [...answers].filter(isKnown)));
  const ratings = [...facts].map((fact) => {
    const inside = has.filter((_, index) => decisions[index]!.answers.has(fact));
    const among = shareOf(inside);
    const elsewhere = shareOf(has.filter((_, index) => !decisions[index]!.answers.has(fact)));
    const weight = (inside.length * (has.length - inside.length)) / has.length;
    return { fact, among, elsewhere, gain: weight * (among - elsewhere) ** 2 };
  });
  const { fact, among, elsewhere } = ratings.reduce((a, b) => (b.gain > a.gain ? b : a));
  return `in ${wholePercent(among)} where ${fact}, in ${wholePercent(elsewhere)} elsewhere`;
}

interface DecidedTask {
  seed: number;
  decisions: readonly Decision[];
}

/** The tasks in which a step follows otherwise, and those that could be compared. */
function compareStep(
  { tool, step, verdict, features }: LearntStep,
  tasks: readonly DecidedTask[],
): { count: number; of: number; example: { seed: number; expected: boolean } | undefined } {
  const judged = tasks.flatMap(({ seed, decisions }) => {
    const verdicts = decisions
      .filter((decision) => decision.tool === tool)
      .flatMap(({ request, answers, steps }) => {
        const facts = [...request, ...answers];
        const row = Int32Array.from(facts.flatMap((fact) => features.get(fact) ?? []));
        const expected = row.length < FAMILIAR * facts.length ? null : verdict(row);
        return expected === null ? [] : [{ expected, isOther: expected !== steps.has(step) }];
      });
    if (verdicts.length === 0) return [];
    const other = verdicts.find(({ isOther }) => isOther);
    return [{ seed, expected: other?.expected ?? false, isOther: other !== undefined }];
  });
  const others = judged.filter(({ isOther }) => isOther);
  return { count: others.length, of: judged.length, example: others[0] };
}
