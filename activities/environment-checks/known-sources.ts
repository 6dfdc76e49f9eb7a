import { setImmediate } from 'node:timers/promises';
import { type ArgumentUse, argumentUses, type FixedWords, fixedWords, type Source } from './argument-sources';
import type { SolvedOpening } from './solution-forms';

/** An argument is known from at least this many uses in the agent's solutions. */
const FEWEST_USES = 10;
/** A source must explain at least this many uses that no better source explains, and at least this share of all. */
const FEWEST_EXPLAINED = 2;
const LEAST_EXPLAINED = 0.01;
/** A fixed text must explain at least this share of the uses: in a few of many values there is always a common one. */
const LEAST_FIXED = 0.03;
/** A fixed number must explain more: numbers that are calculated in an unknown way often have few different values. */
const LEAST_FIXED_NUMBER = 0.1;
/** Folds of the cross-validation over the tasks. */
const FOLDS = 3;
/** A link belongs to a source if at least this share of the uses with this source have it. */
const LINKED = 0.95;

/** A source of an argument in the agent's solutions. */
export interface KnownSource extends Source {
  /** Share of the argument's uses that it explains. */
  share: number;
}

/** What the agent's solutions tell about an argument. */
export interface KnownArgument {
  /** The most frequent first. */
  sources: KnownSource[];
  /** Tasks that use the argument, and those with a use that sources learnt from other tasks do not explain. */
  tasks: number;
  unexplained: number;
}

/** A use of an argument, with the place of its task among the solutions. */
interface TaskUse extends ArgumentUse {
  task: number;
}

/** What the agent's solutions tell about all arguments: by `tool.argument`. */
export interface KnownArguments {
  fixed: FixedWords;
  byArgument: ReadonlyMap<string, KnownArgument>;
}

/** Learns from the agent's solutions where the arguments of calls come from. Heartbeats can be sent between tasks. */
export async function learnSources(
  solved: readonly SolvedOpening[],
  speaking: ReadonlySet<string>,
): Promise<KnownArguments> {
  const fixed = fixedWords(solved);
  const uses: TaskUse[] = [];
  for (const [task, solution] of solved.entries()) {
    uses.push(...argumentUses(solution, speaking, fixed).map((use) => ({ ...use, task })));
    await setImmediate();
  }
  const byArgument = new Map<string, KnownArgument>();
  for (const [argument, some] of Map.groupBy(uses, (use) => use.argument))
    if (some.length >= FEWEST_USES)
      byArgument.set(argument, { sources: coveringSources(some), ...unexplainedTasks(some) });
  return { fixed, byArgument };
}

/** The known source that explains a use of an argument, the most frequent first; undefined if none does. */
export function sourceOf({ sources }: ArgumentUse, known: Pick<KnownArgument, 'sources'>): KnownSource | undefined {
  return known.sources.find(({ text, links }) =>
    sources.some((one) => one.text === text && [...links].every((link) => one.links.has(link))),
  );
}

/** Number of tasks, and of those with a use that is not explained by what was learnt from the other folds' tasks. */
function unexplainedTasks(uses: readonly TaskUse[]): Pick<KnownArgument, 'tasks' | 'unexplained'> {
  const byTask = [...Map.groupBy(uses, ({ task }) => task).values()];
  const unexplained = Array.from({ length: FOLDS }, (_, fold) => {
    const sources = coveringSources(byTask.filter((_uses, place) => place % FOLDS !== fold).flat());
    const inFold = byTask.filter((_uses, place) => place % FOLDS === fold);
    return inFold.filter((some) => some.some((use) => sourceOf(use, { sources }) === undefined)).length;
  }).reduce((sum, count) => sum + count, 0);
  return { tasks: byTask.length, unexplained };
}

/** The least share of uses that a source must explain. */
const leastShare = (text: string): number =>
  /^"-?[\d.]+"$/.test(text) ? LEAST_FIXED_NUMBER : /^"[^"]*"$/.test(text) ? LEAST_FIXED : LEAST_EXPLAINED;

/** Covers the uses with as few sources as possible: each time the source that explains most of those left. */
function coveringSources(uses: readonly ArgumentUse[]): KnownSource[] {
  const isEnough = (text: string, count: number): boolean =>
    count >= Math.max(FEWEST_EXPLAINED, leastShare(text) * uses.length);
  const sources: KnownSource[] = [];
  let left = [...uses];
  while (left.length > 0) {
    const byText = new Map<string, Source[]>();
    for (const one of left.flatMap((use) => use.sources)) {
      const same = byText.get(one.text) ?? [];
      same.push(one);
      byText.set(one.text, same);
    }
    const enough = [...byText].filter(([text, some]) => isEnough(text, some.length));
    const [best] = enough.sort(([a, some], [b, others]) => others.length - some.length || isSimpler(a, b));
    if (best === undefined) break;
    const [text, found] = best;
    const counts = new Map<string, number>();
    for (const { links } of found) for (const link of links) counts.set(link, (counts.get(link) ?? 0) + 1);
    const links = new Set([...counts].filter(([, count]) => count >= LINKED * found.length).map(([link]) => link));
    sources.push({ text, links, share: found.length / uses.length });
    left = left.filter((use) => use.sources.every((one) => one.text !== text));
  }
  return sources;
}

/** Of two sources that explain as much: values before fixed texts, then the shorter text. */
const isSimpler = (a: string, b: string): number =>
  Number(a.includes('"')) - Number(b.includes('"')) || a.length - b.length || (a < b ? -1 : 1);
