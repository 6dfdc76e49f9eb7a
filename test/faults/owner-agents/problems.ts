import type { OwnerRun, OwnerRunOptions } from './owner-run';

/** An episode is played so often at most when its simulator fails. */
const TRIES = 3;

/** What is wrong with a run, a sentence each. */
export function problemsOf(run: OwnerRun, options: OwnerRunOptions): string[] {
  const { report, rewards, kills, payments, leftovers } = run;
  const { episodes, failed = {} } = report.collect;
  const failedCount = Object.values(failed).reduce((sum, count) => sum + count, 0);
  const wanted = options.kills.collect + options.kills.identify;
  const causes = options.kind === 'process' ? ['deadline', 'simulator'] : ['deadline', 'exit'];
  const unknown = Object.keys(failed).filter((cause) => !causes.includes(cause));
  const wrong = [...rewards].filter(([seed, reward]) => reward !== (seed >> 1) % 2);
  return [
    ...(kills.length === wanted ? [] : [`the worker was killed ${kills.length} of ${wanted} times`]),
    ...(episodes === options.tasks ? [] : [`${episodes} of ${options.tasks} episodes are in the report`]),
    ...(rewards.size + failedCount === options.tasks
      ? []
      : [`${rewards.size} episodes have a result and ${failedCount} failed, of ${options.tasks}`]),
    ...causes.flatMap((cause) => ((failed[cause] ?? 0) > 0 ? [] : [`no episode failed because of ${cause}`])),
    ...unknown.map((cause) => `episodes failed because of ${cause}, which nothing here does`),
    ...wrong.map(([seed, reward]) => `task ${seed} has the reward ${reward}`),
    ...playedAfterTheirEnd(run),
    ...playedTooOften(run, options),
    ...payments.paidTwice.map((line) => `paid twice: ${line}`),
    ...(payments.withoutKey === 0 ? [] : [`${payments.withoutKey} calls of the analyst without a key`]),
    ...leftovers.map((line) => `left behind: ${line}`),
  ];
}

const taskOf = (episode: string): string => episode.split(' ')[0]!;

/** Episodes that were finished when the worker was killed, and were played again. */
function playedAfterTheirEnd({ kills, calls }: OwnerRun): string[] {
  return kills.flatMap(({ at, finished }) =>
    calls
      .filter((call) => call.at > at && call.turn === 1 && finished.has(taskOf(call.episode)))
      .map(({ episode }) => `episode ${episode} was finished before a kill, and was played again after it`),
  );
}

/** Episodes that were begun more often than their tries and the kills explain; programs that were given two names. */
function playedTooOften({ calls, kills }: OwnerRun, { kind }: OwnerRunOptions): string[] {
  const begun = new Map<string, number>();
  for (const { episode, turn } of calls) if (turn === 1) begun.set(episode, (begun.get(episode) ?? 0) + 1);
  const collectKills = kills.filter(({ stage }) => stage === 'collect').length;
  const tooOften = [...begun].filter(([, times]) => times > TRIES + collectKills);
  const names = kind === 'program' ? begun.size - new Set([...begun.keys()].map(taskOf)).size : 0;
  return [
    ...tooOften.map(([episode, times]) => `episode ${episode} was begun ${times} times`),
    ...(names === 0 ? [] : [`${names} programs had another WHET_EPISODE when they were played again`]),
  ];
}

/** A line of figures. */
export function figuresOf({ seconds, report, kills, calls, mostAtOnce, modelCalls, payments }: OwnerRun) {
  const count = (became: string) => calls.filter((call) => call.became === became).length;
  return {
    seconds: Math.round(seconds),
    episodes: report.collect.episodes,
    failed: report.collect.failed ?? {},
    mostUsersAtOnce: mostAtOnce,
    userCalls: calls.length,
    userErrors: count('error'),
    userSilent: count('silence'),
    modelCalls,
    analystCalls: payments.calls,
    analystInFlight: payments.inFlight,
    kills: kills.map(({ stage, finished }) => `${stage} at ${finished.size}`),
  };
}
