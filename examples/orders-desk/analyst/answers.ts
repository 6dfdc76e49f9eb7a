import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { RULES, type Judgement } from './rules';
import { parseTranscript } from './transcript';

/** Kinds of questions that the analyst recognises by their words. */
export type QuestionKind = 'discover' | 'merge' | 'label' | 'synthesise';

/** A capability as the analyst names it; the ids are those of `RULES`. */
interface KnownCapability {
  id: string;
  name: string;
  summary: string;
  description: string;
}

/** A question for which the analyst has no rule. The server answers 400 with the message. */
export class UnknownQuestionError extends Error {}

/** Answers questions from their text alone. */
export interface RuleBook {
  answer(prompt: string): { kind: QuestionKind; value: Record<string, unknown> };
}

/**
 * Opens the rules with the capabilities and modules in `directory` (capabilities.json, environments/).
 * @throws Error when capabilities.json is missing.
 */
export function openRuleBook(directory: string): RuleBook {
  const capabilities = JSON.parse(readFileSync(join(directory, 'capabilities.json'), 'utf8')) as KnownCapability[];
  const named = (name: string) => capabilities.find((capability) => capability.name === name.trim());
  const moduleText = (file: string) => readFileSync(join(directory, 'environments', file), 'utf8');

  function synthesise(prompt: string, name: string): Record<string, unknown> {
    const capability = named(name);
    const file = `${capability?.id}.py`;
    if (!capability || !existsSync(join(directory, 'environments', file))) {
      throw new UnknownQuestionError(
        `The demo analyst (rule-based) has no environment for the capability ${JSON.stringify(name)}: ` +
          'it knows only the deficits of the orders desk.',
      );
    }
    // For some capabilities the first draft is outside the calibration band on purpose; after its rejection a better
    // one follows.
    const draft = `${capability.id}.attempt-1.py`;
    const first = !/^# Attempt \d+ was rejected/m.test(prompt) && existsSync(join(directory, 'environments', draft));
    const rationale = first
      ? `A first environment for: ${capability.summary}.`
      : `An environment for: ${capability.summary}. ` +
        'Small tasks that need this habit alone, with credit for each step towards it.';
    return { rationale, source: moduleText(first ? draft : file) };
  }

  return {
    answer(prompt) {
      const wanted = /\nWrite the environment for the capability "(.+)"\.\s*$/.exec(prompt);
      if (wanted) return { kind: 'synthesise', value: synthesise(prompt, wanted[1] as string) };
      if (/\nLabel this capability in this episode\.\s*$/.test(prompt))
        return { kind: 'label', value: { ...label(prompt, named) } };
      if (/\nWhich capabilities does the agent lack\?\s*$/.test(prompt))
        return { kind: 'discover', value: { capabilities: discover(prompt, capabilities) } };
      // The analyst has one name for each of its capabilities, so no two candidates are the same.
      if (/\nWhich of these capabilities are the same\?\s*$/.test(prompt))
        return { kind: 'merge', value: { groups: [] } };
      throw new UnknownQuestionError(
        'The demo analyst (rule-based) did not recognise the question: ' +
          'it answers discovery, merge, labelling and synthesis prompts only.',
      );
    },
  };
}

function label(prompt: string, named: (name: string) => KnownCapability | undefined): Judgement {
  const at = prompt.lastIndexOf('\nCapability: ');
  const name = prompt.slice(at + '\nCapability: '.length).split('\n')[0] as string;
  const rule = RULES[named(name)?.id ?? ''];
  if (!rule)
    return { label: 'NA', step: null, reason: 'The demo analyst (rule-based) has no rule for this capability.' };
  return rule(parseTranscript(prompt.slice(0, at)));
}

/**
 * The capabilities that some episode shows to be lacking, the most frequent first, each with the numbers of those
 * episodes.
 */
function discover(prompt: string, capabilities: readonly KnownCapability[]) {
  const episodes = prompt.split(/^Episode (\d+): failed$/m);
  const shown = new Map<string, number[]>();
  for (let i = 1; i + 1 < episodes.length; i += 2) {
    const transcript = parseTranscript(episodes[i + 1] as string);
    for (const { id } of capabilities) {
      if (RULES[id]?.(transcript).label === 'LACKING') shown.set(id, [...(shown.get(id) ?? []), Number(episodes[i])]);
    }
  }
  return capabilities
    .map(({ id, name, summary, description }) => ({ name, summary, description, episodes: shown.get(id) ?? [] }))
    .filter((capability) => capability.episodes.length > 0)
    .sort((a, b) => b.episodes.length - a.episodes.length);
}
