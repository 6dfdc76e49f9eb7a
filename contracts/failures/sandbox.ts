/** The failures of an environment in its process, jailed or not; their class is in `sandbox/errors.ts`. */

/**
 * Types of `SandboxError`, dotted and stable. `whet env run --json` names them as `error.type`; in a run they become
 * failed checks or `Environment.Failed`.
 */
export const SANDBOX_FAILURES = {
  'Sandbox.StartFailed': {
    meaning: 'The process of an environment did not start, or ended before it was loaded.',
    remedy: 'Read the message; `make setup` builds what the process needs.',
  },
  'Sandbox.EnvironmentHung': {
    meaning: 'The environment did not answer in time; its process was killed.',
    remedy: 'Look for a loop without an end, or for waiting; play the task by its seed with `whet env run`.',
  },
  'Sandbox.EnvironmentDied': {
    meaning: 'The process of the environment ended by itself, or broke a limit of the jail.',
    remedy: 'Read its last lines in the message; docs/explanations/sandbox.md lists the limits.',
  },
  'Sandbox.EnvironmentKilled': {
    meaning: 'Something outside the jail killed the process of the environment, for example for lack of memory.',
    remedy: 'Give the machine more memory, or run fewer things on it; the environment itself did not break a limit.',
  },
  'Sandbox.BadOutput': {
    meaning: 'The process answered with something that the protocol does not allow; it was killed.',
    remedy: 'Leave file descriptors alone; print to standard output only.',
  },
  'Sandbox.OutputFlood': {
    meaning: 'The environment printed more than the jail allows; its process was killed.',
    remedy: 'Print less.',
  },
  'Sandbox.SourceTooLarge': {
    meaning: "The environment's source is too large for the message that loads it; the message has both sizes.",
    remedy: "Make it shorter. The agent's own environment may open files of its folder by their names.",
  },
  'Sandbox.EnvironmentRaised': {
    meaning: "The environment's code raised.",
    remedy: 'Read the traceback in the message.',
  },
  'Sandbox.BadReturn': {
    meaning: 'A method of the environment returned a wrong type, NaN, a reward outside [0, 1] or too much.',
    remedy: 'Correct the method that the message names (docs/reference/protocols.md, section 1).',
  },
  'Sandbox.BadRequest': {
    meaning: 'The request was wrong: unknown parameters, a finished episode, a seed that is no integer.',
    remedy: 'Correct the move or the seed.',
  },
  'Sandbox.NoSuchEpisode': {
    meaning: 'The episode was evaluated, dropped or never started.',
    remedy: 'Reset the environment first.',
  },
  'Sandbox.CommandRefused': {
    meaning:
      "The command of an agent's environment cannot be run: a program or a folder is missing or may not be shown.",
    remedy: 'Correct environment.command, folders or secrets in agent.yaml, as the message says.',
  },
  'Sandbox.TaskFailed': {
    meaning: 'Something other than the agent failed in one episode: its simulator, its judge, its program or a limit.',
    remedy: 'Read the cause; a run plays the episode again, three times in all, and then counts it as failed.',
  },
  'Sandbox.EnvironmentClosed': {
    meaning: 'The environment was closed while a request waited.',
    remedy: 'Nothing: whoever closed it no longer wants the answer.',
  },
} as const;
/** A type of `SANDBOX_FAILURES`. */
export type SandboxFailureType = keyof typeof SANDBOX_FAILURES;
