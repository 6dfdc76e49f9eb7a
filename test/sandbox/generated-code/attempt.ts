import type { SandboxError } from '../../../sandbox';

/** A class of errors that an attempt may end with. */
type Ending = abstract new (...args: never[]) => SandboxError;

/** What generated code tries in the jail, and what it must get. */
export interface Attempt {
  kind: string;
  name: string;
  /** Python statements of `attack(call)` (`hostileSource`); what it returns becomes the observation. */
  body: string;
  /** The observation, or the error of the step. */
  expected: string | RegExp | Ending | readonly (string | RegExp | Ending)[];
  /** Further members of the class `Environment`, or replacements. */
  members?: string;
  /** Deadline of a request, for attempts that run into it. */
  requestMs?: number;
  /** Written in the numbers of this architecture. */
  only?: NodeJS.Architecture;
}

/**
 * System calls of x86_64 that must all be refused: the observation names those that were not.
 * @param calls arguments of `system_call` in Python, by name.
 * @param allowed errors that count as a refusal.
 */
export function refused(
  kind: string,
  name: string,
  calls: Readonly<Record<string, string>>,
  allowed: readonly string[] = ['EPERM', 'ENOSYS'],
): Attempt {
  const pairs = Object.entries(calls).map(
    ([call, words]) => `(${JSON.stringify(call)}, lambda: system_call(${words}))`,
  );
  const body = `
got = [(name, run()) for name, run in [${pairs.join(', ')}]]
return {name: answer for name, answer in got if answer not in ${JSON.stringify(allowed)}}`;
  return { kind, name, body, expected: '{}', only: 'x64' };
}
