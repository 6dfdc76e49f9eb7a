import { startOf } from '../../../contracts/clean-text';
import { fisherExact } from '../../../contracts/statistics/exact-tails';
import { type CheckResult, resultOf, wholePercent } from '../check';
import { type ArgumentUse, argumentUses } from '../argument-sources';
import { isAbove } from '../beyond-chance';
import { allAndBySeedRange } from '../environment-task';
import { type KnownArgument, type KnownArguments, sourceOf } from '../known-sources';
import { CHECK_LIMITS } from '../limits';
import { asCall } from '../moves';
import type { SolvedTask } from '../solved-tasks';
import { textOf } from '../words';

/** An argument that is unexplained in more than this share of the agent's own tasks with it is not judged. */
const UNEXPLAINED = 0.2;
/** The share of comparisons in which chance alone makes such a difference from the agent's solutions. */
const BY_CHANCE = 0.01;
/**
 * An argument with this share of one source has no other. Elsewhere an environment may use a source that is rare among
 * the agent's own tasks, so only values that no message before the call contains are strange.
 */
const ONE_SOURCE = 0.95;
/** Longest shown value, in characters. */
const SHOWN = 60;

/** A use of an argument, with the solution that it is in. */
type UseInTask = ArgumentUse & { task: SolvedTask };

/**
 * Checks that each argument of a solution's call follows from what was seen before the call, as in the agent's own
 * solutions: it is copied from the same place, calculated in the same way, or one of the same fixed texts.
 */
export function checkDerivable(
  tasks: readonly SolvedTask[],
  known: KnownArguments,
  speaking: ReadonlySet<string>,
): CheckResult {
  const uses = tasks.flatMap((task) =>
    argumentUses(task, speaking, known.fixed).map((use) => ({ ...use, task, seed: task.seed })),
  );
  const compared = allAndBySeedRange(uses).flatMap(({ name, tasks: inRange }) =>
    [...Map.groupBy(inRange, ({ argument }) => argument)].flatMap(([argument, some]) => {
      const own = known.byArgument.get(argument);
      if (own === undefined || own.unexplained > UNEXPLAINED * own.tasks) return [];
      const of = new Set(some.map(({ seed }) => seed)).size;
      const hasOneSource = (own.sources[0]?.share ?? 0) >= ONE_SOURCE;
      const strange = some.filter(
        (use) => sourceOf(use, own) === undefined && (hasOneSource || (!isSaid(use, speaking) && !wasSeen(use))),
      );
      const count = new Set(strange.map(({ seed }) => seed)).size;
      const limit = CHECK_LIMITS.maxUnexplainedArguments + own.unexplained / own.tasks;
      const chance = fisherExact({ events: count, trials: of }, { events: own.unexplained, trials: own.tasks });
      const isBad = isAbove(count, of, limit) && chance < BY_CHANCE;
      return [{ name, argument, own, strange: strange[0], count, of, limit, isBad }];
    }),
  );
  const worst = [...compared].sort((a, b) => b.count / b.of - a.count / a.of)[0];
  const bad = compared.filter(({ isBad }) => isBad);
  const sentences = bad.map(({ name, argument, own, strange, count, of }) => {
    const { seed, value, position, task } = strange!;
    return (
      `${argument} of ${count} of ${of} tasks ${name} does not follow from what was seen, as it does in the agent's ` +
      `solutions (${wordsFor(own)}): at seed ${seed} it is ${shown(value)}, ` +
      `for ${shown(textOf(asCall(task.reference[position]!).arguments))}.`
    );
  });
  return resultOf(
    [...new Set(sentences)],
    `The arguments of ${tasks.length} solutions follow from what was seen before, as the agent's own do.`,
    worst === undefined
      ? []
      : [{ name: `tasks with a strange ${worst.argument}`, value: worst.count / worst.of, atMost: worst.limit }],
  );
}

/** Whether the argument is what a speaking tool says. */
const isSaid = ({ task, position }: UseInTask, speaking: ReadonlySet<string>): boolean =>
  speaking.has(asCall(task.reference[position]!).name);

/** Whether a message before the call contains the value. */
const wasSeen = ({ task, position, value }: UseInTask): boolean =>
  [task.prompt, ...task.observations.slice(0, position)].some((text) => text.includes(textOf(value)));

const shown = (value: ArgumentUse['value']): string => startOf(textOf(value), SHOWN);

/** `get_order.total of the same order in 100 %`: the sources of an argument, as a part of a sentence. */
function wordsFor({ sources }: KnownArgument): string {
  const some = sources.slice(0, 3).map(({ text, links, share }) => {
    const same = [...links].map((link) => link.slice(link.indexOf('.') + 1)).join(' and ');
    return `${text}${same === '' ? '' : ` of the same ${same}`} in ${wholePercent(share)}`;
  });
  return some.join(', ');
}
