import { openRuleBook, type RuleBook } from '../../shared/analyst/answers';
import { RULES } from './rules';
import { parseTranscript } from './transcript';

/** Model id of the demo analyst. */
export const DEMO_ANALYST_MODEL = 'demo-analyst-rule-based';
/** The name of the demo analyst wherever a person reads about it. */
export const DEMO_ANALYST_NAME = 'demo analyst (rule-based)';

/**
 * Opens the orders desk's rules with the capabilities and modules in `directory` (capabilities.json, environments/).
 * @throws Error when capabilities.json is missing.
 */
export function openDeskRules(directory: string): RuleBook {
  return openRuleBook({
    model: DEMO_ANALYST_MODEL,
    name: DEMO_ANALYST_NAME,
    directory,
    judge: (id, episode) => RULES[id]?.(parseTranscript(episode)) ?? null,
  });
}
