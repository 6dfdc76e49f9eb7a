import { z } from 'zod';

/** What code may rely on in an environment, whatever its kind. */
export const environmentFactsSchema = z.strictObject({
  /** The same seed and moves give the same bytes. */
  deterministic: z.boolean(),
  /** It knows a solution of each task. */
  hasReferences: z.boolean(),
  /** Its rewards come with diagnostics of planted deficits. */
  hasDiagnostics: z.boolean(),
  /** An episode pays for the tokens of a simulated user or a judge. */
  costsTokens: z.boolean(),
  /** Something plays its tasks. Otherwise there are conversations, and no tasks. */
  playable: z.boolean(),
  /** A trainer can play it. */
  trainable: z.boolean(),
  /** Each turn of the agent is made here, so that a call can be put in or held back. */
  steppable: z.boolean(),
  /** The packages that its results depend on, in the words of its process. */
  packages: z.string().optional(),
});
export type EnvironmentFacts = z.infer<typeof environmentFactsSchema>;

/** The facts of a Python class without input and output. */
export const MODULE_FACTS: EnvironmentFacts = {
  deterministic: true,
  hasReferences: true,
  hasDiagnostics: true,
  costsTokens: false,
  playable: true,
  trainable: true,
  steppable: true,
};

/** The facts of a command for each episode, before it has said anything. */
export const PROGRAM_FACTS: EnvironmentFacts = {
  deterministic: false,
  hasReferences: false,
  hasDiagnostics: true,
  costsTokens: true,
  playable: true,
  trainable: false,
  steppable: false,
};

/** The facts of conversations that were read, which nothing plays. */
export const CONVERSATION_FACTS: EnvironmentFacts = {
  deterministic: false,
  hasReferences: false,
  hasDiagnostics: false,
  costsTokens: false,
  playable: false,
  trainable: false,
  steppable: false,
};
