import type { SandboxError } from '../../../sandbox';

/** A class of errors that an attack may end with. */
type Ending = abstract new (...args: never[]) => SandboxError;

export type Expected = string | RegExp | Ending;

/** One hostile environment: what its `step` does, and what it must get for it. */
interface JailedAttack {
  /** A sentence; the row of docs/explanations/sandbox.md that explains it has the same name. */
  name: string;
  /** Python statements of `attack(call)`; what it returns becomes the observation. */
  body: string;
  /** The observation, or the error that the step is rejected with; a list where chance decides. */
  expected: Expected | readonly Expected[];
  /** Further members of the class `Environment`, or replacements. */
  members?: string;
  arguments?: Record<string, unknown>;
  /** Deadline of a request, for attacks that run into it. Default: 30 s. */
  requestMs?: number;
  /** The attack is written in the numbers or the machine code of this architecture. */
  only?: NodeJS.Architecture;
}

/** An attack that takes more than one step, or a look at the host. */
interface AttackScenario {
  name: string;
  run: () => Promise<void>;
  only?: NodeJS.Architecture;
}

export type Attack = JailedAttack | AttackScenario;
