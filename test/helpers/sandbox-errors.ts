/** The kinds of SandboxError as classes, for `instanceof` and `toBeInstanceOf`: an error is one by its `type`. */
import { SandboxError } from '../../sandbox';

const ofType = (...types: string[]) =>
  class extends SandboxError {
    static override [Symbol.hasInstance](error: unknown): boolean {
      return error instanceof SandboxError && types.includes(error.type);
    }
  };

export const EnvironmentHung = ofType('Sandbox.EnvironmentHung');
/** By itself, or killed from outside. */
export const EnvironmentDied = ofType('Sandbox.EnvironmentDied', 'Sandbox.EnvironmentKilled');
export const BadOutput = ofType('Sandbox.BadOutput');
export const OutputFlood = ofType('Sandbox.OutputFlood');
export const EnvironmentRaised = ofType('Sandbox.EnvironmentRaised');
export const BadReturn = ofType('Sandbox.BadReturn');
export const BadRequest = ofType('Sandbox.BadRequest');
export const NoSuchEpisode = ofType('Sandbox.NoSuchEpisode');
export const EnvironmentClosed = ofType('Sandbox.EnvironmentClosed');
