import type { EpisodeTokens, TokenRow } from '../../contracts/artifacts/episode-tokens';
import type { EpisodeParties } from './episode';

/** Most tokens that are kept of an episode, over all rows: about 11 MB. */
const MOST_TOKENS = 1_000_000;

/** The tokens of one answer. */
export interface SampledTokens {
  /** Ids of what the model read. Not empty. */
  prompt: readonly number[];
  /** Ids of what it sampled, with the token that ends its turn. Not empty. */
  answer: readonly number[];
  /** In nats, for each id of `answer`. */
  logprobs: readonly number[];
}

interface GrowingRow {
  ids: number[];
  sampled: [start: number, count: number][];
  logprobs: number[];
}

/** Joins the answers of an episode to rows of tokens. Nothing is tokenized: ids are what the server says. */
export class TokenRows {
  private readonly rows: GrowingRow[] = [];
  private turns = 0;
  private missing = 0;
  private count = 0;

  /** Adds an answer; null: its tokens are not known. */
  add(sampled: SampledTokens | null): void {
    this.turns++;
    if (sampled === null || !this.keep(sampled)) this.missing++;
  }

  /** The model `chat`, each of whose answers is added. @param asks whether the server is asked for tokens. */
  recording(chat: EpisodeParties['chat'], asks: boolean): EpisodeParties['chat'] {
    return async (request) => {
      const answer = await chat(asks ? { ...request, tokens: true } : request);
      this.add(answer.tokens ?? null);
      return answer;
    };
  }

  /** Everything so far. */
  get kept(): EpisodeTokens {
    const { turns, missing } = this;
    return { turns, missing, rows: missing > 0 ? [] : this.rows.map(packed) };
  }

  private keep({ prompt, answer, logprobs }: SampledTokens): boolean {
    // The longest one, so that of two rows with the same beginning the one goes on that had the last answer.
    const found = this.rows.filter(({ ids }) => begins(ids, prompt)).sort((a, b) => b.ids.length - a.ids.length)[0];
    const row = found ?? { ids: [], sampled: [], logprobs: [] };
    this.count += prompt.length - row.ids.length + answer.length;
    if (this.count > MOST_TOKENS) return false;
    if (found === undefined) this.rows.push(row);
    append(row.ids, prompt, row.ids.length);
    row.sampled.push([row.ids.length, answer.length]);
    append(row.ids, answer);
    append(row.logprobs, logprobs);
    return true;
  }
}

/** Whether a list begins with another. Its end is compared first, because most prompts of an agent begin alike. */
function begins(start: readonly number[], whole: readonly number[]): boolean {
  if (start.length > whole.length) return false;
  for (let place = start.length - 1; place >= 0; place--) if (start[place] !== whole[place]) return false;
  return true;
}

/** Not by spreading: a long list would have more arguments than a call may have. */
function append(to: number[], from: readonly number[], start = 0): void {
  for (let place = start; place < from.length; place++) to.push(from[place]!);
}

const packed = ({ ids, sampled, logprobs }: GrowingRow): TokenRow => ({
  ids: base64Of(Int32Array.from(ids)),
  sampled,
  logprobs: base64Of(Float32Array.from(logprobs)),
});

/** Every platform of Node has the little end first. */
const base64Of = ({ buffer }: Int32Array<ArrayBuffer> | Float32Array<ArrayBuffer>): string =>
  Buffer.from(buffer).toString('base64');
