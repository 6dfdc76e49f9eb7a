/** The router's prompt (paper, section 5; docs/reference/protocols.md, section 7). */
import { NONE_LABEL } from '../contracts/names';

/** One line of the router's menu. */
export interface RouterOption {
  /** A single letter. */
  label: string;
  /** Capability id, or `none`. */
  capabilityId: string;
  summary: string;
}

/**
 * The menu for these capabilities: a letter for each, then one for `none`. The capabilities are sorted by summary, so
 * that the same set always makes the same menu. Throws RangeError for more than 25 capabilities.
 */
export function routerMenu(capabilities: readonly { id: string; summary: string }[]): RouterOption[] {
  if (capabilities.length > 25)
    throw new RangeError(`A router menu has at most 25 capabilities, not ${capabilities.length}.`);
  const sorted = [...capabilities].sort((a, b) => (a.summary < b.summary ? -1 : 1));
  const options = sorted.map((c, i) => ({
    label: String.fromCharCode(65 + i),
    capabilityId: c.id,
    summary: c.summary,
  }));
  return [
    ...options,
    { label: String.fromCharCode(65 + options.length), capabilityId: NONE_LABEL, summary: 'none of these' },
  ];
}

/** The text of the single user message that asks for one label token. */
export function routerPrompt(task: string, menu: readonly RouterOption[]): string {
  const lines = menu.map((o) => `${o.label}: ${o.summary}`);
  return `Which skill does this task need?\nTask: ${task}\n${lines.join('\n')}\nAnswer:`;
}
