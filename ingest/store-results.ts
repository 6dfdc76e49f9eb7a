import { type Conversation, countsMore, type Outcome, outcomeAmong } from '../contracts/artifacts/conversation';
import { canonicalJson } from '../contracts/artifacts/trajectory-id';
import { type ArtifactStore, ingestedConversations, ingestedOutcomes, putLines } from '../store';
import { shortHash } from './short-hash';

/** Characters after which an artifact ends, so that readers need not hold more. */
const ARTIFACT_CHARACTERS = 8_000_000;

type KnownOutcome = Pick<Outcome, 'at' | 'from' | 'success' | 'reward'> & { content: string };

/** What an outcome says. */
const contentOf = ({ success, reward, from }: Outcome): string => `${success} ${reward} ${from}`;

/** What the store holds of an agent, as short hashes. */
export class Known {
  /** Versions of conversations. */
  private readonly versions = new Set<string>();
  /** By the id or alias that it names: the outcome that counts, as its place in `contents`. */
  private readonly outcomes = new Map<string, number>();
  /** The few different outcomes, so that each conversation costs a number. */
  private readonly contents: KnownOutcome[] = [];
  private readonly places = new Map<string, number>();
  /** What traces said of a conversation before they said something else. */
  private readonly replaced = new Set<string>();

  /** Reads the store. @throws as readIngested. */
  static async read(store: ArtifactStore, agent: string): Promise<Known> {
    const known = new Known();
    for await (const { lines } of ingestedConversations(store, agent))
      for (const conversation of lines) if (conversation !== null) known.addVersion(conversation);
    for await (const { lines } of ingestedOutcomes(store, agent))
      for (const outcome of lines) if (outcome !== null) known.note(outcome);
    return known;
  }

  /** Whether a conversation is there in this version; afterwards it is. */
  addVersion({ at: _, ...conversation }: Conversation): boolean {
    const version = shortHash(canonicalJson(conversation));
    const isKnown = this.versions.has(version);
    this.versions.add(version);
    return isKnown;
  }

  /**
   * Whether an outcome adds nothing: what it names has the same, or one that counts more, or had it from the traces and
   * has another since, because then an old export is read again. Afterwards it is known.
   */
  addOutcome(outcome: Outcome): boolean {
    const { conversation, from } = outcome;
    const before = this.outcomeOf(conversation);
    const content = contentOf(outcome);
    if (before !== undefined) {
      if (before.from !== from && countsMore(before, outcome)) return true;
      if (from === 'trace' && this.replaced.has(shortHash(`${conversation} ${content}`))) return true;
    }
    this.note(outcome);
    return before?.content === content;
  }

  private note(outcome: Outcome): void {
    const { conversation, at, from, success, reward } = outcome;
    const content = contentOf(outcome);
    const before = this.outcomeOf(conversation);
    const isNew = before === undefined || countsMore(outcome, before);
    if (before?.from === from && from === 'trace' && before.content !== content)
      this.replaced.add(shortHash(`${conversation} ${isNew ? before.content : content}`));
    if (isNew) this.outcomes.set(shortHash(conversation), this.placeOf({ at, from, success, reward, content }));
  }

  private outcomeOf(name: string): KnownOutcome | undefined {
    return this.contents[this.outcomes.get(shortHash(name)) ?? -1];
  }

  private placeOf(outcome: KnownOutcome): number {
    const text = `${outcome.at} ${outcome.content}`;
    let place = this.places.get(text);
    if (place === undefined) {
      place = this.contents.push(outcome) - 1;
      this.places.set(text, place);
    }
    return place;
  }

  /** Whether a conversation has an outcome, as `outcomeAmong` tells. */
  hasOutcome({ id, aliases = [] }: Pick<Conversation, 'id' | 'aliases'>): boolean | 'disagree' {
    const ofAliases = new Set(aliases.flatMap((name) => this.outcomeOf(name) ?? []));
    const found = outcomeAmong(this.outcomeOf(id) ?? null, [...ofAliases]);
    return found === 'disagree' ? found : found !== null;
  }
}

/**
 * Writes values as artifacts, each as soon as it is full: a kill loses what the same command finds again.
 * @returns the number of values.
 */
export async function putInArtifacts(
  store: ArtifactStore,
  directory: string,
  name: string,
  values: Iterable<unknown>,
): Promise<number> {
  let count = 0;
  const all = values[Symbol.iterator]();
  let next = all.next();
  while (!next.done) {
    let characters = 0;
    const some = function* () {
      for (; !next.done && characters < ARTIFACT_CHARACTERS; next = all.next()) {
        count++;
        characters += JSON.stringify(next.value).length;
        yield next.value;
      }
    };
    await putLines(store, directory, name, some());
  }
  return count;
}
