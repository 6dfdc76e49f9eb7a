import type { Conversation } from '../../contracts/artifacts/conversation';
import { type ArtifactStore, ingestedConversations } from '../../store';
import { shortHash } from '../short-hash';

/** Names that are kept whole, as examples. */
const NAMED = 1_000;

/** Finds the outcomes that name no conversation, a few bytes for each. */
export class Unmatched {
  private readonly names = new Set<string>();
  private readonly first: string[] = [];

  /** Notes what an outcome names. */
  add(name: string): void {
    this.names.add(shortHash(name));
    if (this.first.length < NAMED) this.first.push(name);
  }

  /** Takes out what names this conversation, which is stored or will be. */
  match({ id, aliases = [] }: Pick<Conversation, 'id' | 'aliases'>): void {
    for (const name of [id, ...aliases]) this.names.delete(shortHash(name));
  }

  /**
   * What names none of the stored conversations.
   * @returns their number, and some of them. @throws as `ingestedConversations`.
   */
  async rest(store: ArtifactStore, agent: string): Promise<{ count: number; examples: string[] }> {
    if (this.names.size > 0)
      for await (const { lines } of ingestedConversations(store, agent))
        for (const conversation of lines) if (conversation !== null) this.match(conversation);
    return { count: this.names.size, examples: this.first.filter((name) => this.names.has(shortHash(name))) };
  }
}
