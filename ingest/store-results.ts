import { hash } from 'node:crypto';
import { type Conversation, type Outcome, OUTCOME_SOURCES } from '../contracts/artifacts/conversation';
import { canonicalJson } from '../contracts/artifacts/trajectory-id';
import { type ArtifactStore, ingestedConversations, ingestedOutcomes, putLines } from '../store';

/** Characters after which an artifact ends, so that readers need not hold more. */
const ARTIFACT_CHARACTERS = 8_000_000;

/** A short name of a text, for sets of many. */
const short = (text: string): string => hash('sha256', text, 'binary').slice(0, 12);

/** What the store holds of an agent, as short hashes. */
export class Known {
  /** Versions of conversations. */
  private readonly versions = new Set<string>();
  /** By the id or alias that it names: the latest outcome, as its place in `contents`. */
  private readonly outcomes = new Map<string, number>();
  /** The few different outcomes, so that each conversation costs a number. */
  private readonly contents: { at: string; rank: number; content: string }[] = [];
  private readonly places = new Map<string, number>();

  /** Reads the store. @throws as readIngested. */
  static async read(store: ArtifactStore, agent: string): Promise<Known> {
    const known = new Known();
    for await (const { lines } of ingestedConversations(store, agent))
      for (const conversation of lines) if (conversation !== null) known.addVersion(conversation);
    for await (const { lines } of ingestedOutcomes(store, agent))
      for (const outcome of lines) if (outcome !== null) known.addOutcome(outcome);
    return known;
  }

  /** Whether a conversation is there in this version; afterwards it is. */
  addVersion({ at: _, ...conversation }: Conversation): boolean {
    const version = short(canonicalJson(conversation));
    const isKnown = this.versions.has(version);
    this.versions.add(version);
    return isKnown;
  }

  /** Whether the latest outcome of what it names says the same; afterwards it does, unless it is older. */
  addOutcome({ conversation, at, from, success, reward }: Outcome): boolean {
    const name = short(conversation);
    const content = `${success} ${reward} ${from}`;
    const before = this.contents[this.outcomes.get(name) ?? -1];
    if (before?.content === content) return true;
    const rank = OUTCOME_SOURCES.indexOf(from);
    if (before === undefined || at > before.at || (at === before.at && rank > before.rank))
      this.outcomes.set(name, this.placeOf({ at, rank, content }));
    return false;
  }

  private placeOf(outcome: { at: string; rank: number; content: string }): number {
    const text = `${outcome.at} ${outcome.content}`;
    let place = this.places.get(text);
    if (place === undefined) {
      place = this.contents.push(outcome) - 1;
      this.places.set(text, place);
    }
    return place;
  }

  /** Whether an outcome names the conversation. */
  hasOutcome({ id, aliases = [] }: Pick<Conversation, 'id' | 'aliases'>): boolean {
    return [id, ...aliases].some((name) => this.outcomes.has(short(name)));
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
