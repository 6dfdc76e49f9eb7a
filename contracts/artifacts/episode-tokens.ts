import { z } from 'zod';
import type { ArtifactRef } from './artifact-ref';

/** Not `z.base64`: its regular expression fails at a text of some megabytes. */
const base64Schema = z.string();

/**
 * One sequence of tokens as a model read and sampled it: a prompt, an answer, what came between, the next answer, and
 * so on.
 */
const tokenRowSchema = z.strictObject({
  /** All ids, as 32-bit integers, little-endian. */
  ids: base64Schema,
  /** Where answers stand: the place of the first token, and the number of tokens. Ascending. */
  sampled: z.array(z.tuple([z.int().positive(), z.int().positive()])).min(1),
  /** Of all sampled tokens in their order, in nats, as the server says it: 32-bit floats, little-endian. */
  logprobs: base64Schema,
});
export type TokenRow = z.infer<typeof tokenRowSchema>;

/** The tokens of an episode's answers. */
export const episodeTokensSchema = z.strictObject({
  /** Number of the model's answers. */
  turns: z.int().nonnegative(),
  /** Answers whose tokens are not known. With one of them, nothing of the episode is trained on. */
  missing: z.int().nonnegative(),
  /** A prompt that extends an earlier prompt and its answer goes on in that row; any other one begins a row. */
  rows: z.array(tokenRowSchema),
});
export type EpisodeTokens = z.infer<typeof episodeTokensSchema>;

/** A line of the artifact: the tokens of one whole episode, and what training needs of its trajectory. */
export interface KeptEpisode extends Pick<EpisodeTokens, 'rows'> {
  /** The id of the trajectory. */
  id: string;
  seed: number;
  trial: number;
  model: string;
  temperature: number;
  reward: number;
}

/** What was kept of the tokens of a set of rollouts. */
export interface KeptTokens {
  /** A `KeptEpisode` a line. Absent: no episode is whole. */
  artifact?: ArtifactRef;
  /** Episodes in it: the tokens of each of their answers are known. */
  episodes: number;
  /** Episodes that are not in it, so that no training may use them. */
  lacking: number;
  /** Why the model server gives no tokens; absent: it gives them. */
  refusal?: string;
}
