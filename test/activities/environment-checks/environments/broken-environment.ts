/** A good environment with one fault made on purpose, and what the checks must find. */
export interface BrokenEnvironment {
  /** The fault in words. */
  what: string;
  /** Passages that occur once in the good environment, and their replacements. */
  edits: [passage: string, instead: string][];
  /** Names of all checks that fail. */
  fails: string[];
  /** Names of checks that may fail as well, by chance. */
  perhaps?: string[];
  /** Matches part of the reasons given. */
  reason: RegExp;
}
