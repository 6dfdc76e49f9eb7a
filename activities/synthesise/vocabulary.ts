import type { ChatMessage } from '../../contracts/artifacts/trajectory';

const MAX_NAMES = 24;
const MAX_VALUES = 20;
/** Number of values to show of a member whose values nearly all differ. */
const EXAMPLES = 4;
const MAX_VALUE_CHARS = 40;
/**
 * From this share of distinct values on, a member counts as open: nearly every use has a new value, so the values are
 * only examples.
 */
const OPEN_SHARE = 0.8;
/** With fewer uses it is unknown whether values recur. */
const FEWEST_USES = 10;

/** The values of one member of calls and observations. */
export interface Values {
  name: string;
  /** The most frequent ones first. */
  values: string[];
  /** Whether each episode has another value, so that the values are only examples of the form. */
  isOpen: boolean;
}

/**
 * Collects the vocabulary of the target: the values of its calls' arguments and of the members of its observations. It
 * shows the names that the agent knows.
 */
export class Vocabulary {
  private readonly uses = new Map<string, Map<string, number>>();

  /** Adds the names and values of one episode. */
  add(messages: readonly ChatMessage[]): void {
    const seen = new Map<string, Set<string>>();
    for (const { role, content, tool_calls: calls } of messages) {
      for (const { function: f } of calls ?? []) collect(parsed(f.arguments), null, seen);
      if (role === 'tool' && content !== null) collect(parsed(content), null, seen);
    }
    for (const [name, values] of seen) {
      const counts = this.uses.get(name) ?? new Map<string, number>();
      this.uses.set(name, counts);
      for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
    }
  }

  /** The names used in most episodes, in alphabetical order. */
  list(): Values[] {
    return [...this.uses]
      .map(([name, counts]) => ({ name, counts, uses: [...counts.values()].reduce((a, b) => a + b, 0) }))
      .sort((a, b) => b.uses - a.uses || (a.name < b.name ? -1 : 1))
      .slice(0, MAX_NAMES)
      .sort((a, b) => (a.name < b.name ? -1 : 1))
      .map(({ name, counts, uses }) => {
        const isOpen = uses >= FEWEST_USES && counts.size >= OPEN_SHARE * uses;
        const values = [...counts]
          .sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1))
          .slice(0, isOpen ? EXAMPLES : MAX_VALUES)
          .map(([value]) => value);
        return { name, values, isOpen };
      });
  }
}

function collect(value: unknown, name: string | null, into: Map<string, Set<string>>): void {
  if (Array.isArray(value)) {
    for (const item of value) collect(item, name, into);
  } else if (typeof value === 'object' && value !== null) {
    for (const [key, member] of Object.entries(value)) collect(member, key, into);
  } else if (name !== null && (typeof value === 'string' || typeof value === 'number')) {
    const text = String(value);
    if (text === '' || text.length > MAX_VALUE_CHARS || text.includes('\n')) return;
    const values = into.get(name) ?? new Set<string>();
    into.set(name, values.add(text));
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
