import { z } from 'zod';
import type { Candidate } from '../../contracts/artifacts/identification';
import type { EnvironmentTool } from '../../contracts/messages/environment-protocol';
import type { AnalystMessage } from '../../llm';
import { renderMessages, shorten } from '../render-messages';
import type { Evidence } from './evidence';
import { feedbackSection, indent, type RejectedAttempt } from './feedback';
import { type EnvironmentDemands, MAX_SOURCE_CHARS, rulesOf } from './rules';
import { rateSentences, type TargetRate } from './target-rate';
import type { TargetSamples, ToolSample } from './target-samples';
import type { Values } from './vocabulary';

/**
 * Version of the prompt, part of every synthesis key. Increase it with any change of this file, `rules.ts` or
 * `feedback.ts` that can change an answer: a test pins the text to the version.
 */
export const SYNTHESIS_PROMPT_VERSION = 'synthesise-10';

const MAX_MESSAGE_CHARS = 3_000;
const MAX_SYSTEM_CHARS = 12_000;

/** All inputs of the synthesis prompt. */
export interface SynthesisMaterial {
  capability: Candidate;
  tools: readonly EnvironmentTool[];
  demands: EnvironmentDemands;
  samples: TargetSamples;
  /** The target's answers to changed solutions, from `verdictLines`. */
  verdicts: readonly string[];
  rate: TargetRate;
  evidence: readonly Evidence[];
  previous: RejectedAttempt | null;
}

/** The messages of one synthesis call. */
export function synthesisMessages(material: SynthesisMaterial): AnalystMessage[] {
  const { capability, tools, demands, samples, verdicts, rate, evidence, previous } = material;
  const { system, openings, calls, errors, spoken, vocabulary } = samples;
  const labelled = (wanted: string) => evidence.filter(({ label }) => label.label === wanted);
  const sections = [
    `# Capability\n${capability.name}\n${capability.description}\n${rateSentences(rate)}`.trimEnd(),
    `# The target's tools (JSON)\n${JSON.stringify(tools, null, 1)}`,
    `# The target's system message\n${indent(shorten(system ?? '(none)', MAX_SYSTEM_CHARS))}`,
    `# Opening messages of the target's tasks\n${openings.map((text) => `- ${JSON.stringify(text)}`).join('\n')}`,
    spokenSection(spoken),
    `# Calls of the target's tools and what they returned\n${calls.map(sampleLine).join('\n')}`,
    errors.length === 0
      ? ''
      : `# Error observations of the target: answers to calls that it did not accept\n${errors.map(sampleLine).join('\n')}`,
    verdicts.length === 0 ? '' : `${VERDICTS}\n${verdicts.join('\n')}`,
    vocabularySection(vocabulary),
    ...labelled('LACKING').map((item, i) => episode(`# Failed episode ${i + 1}, which lacks the capability`, item)),
    ...labelled('PRESENT').map((item, i) => episode(`# Successful episode ${i + 1}, which shows the capability`, item)),
    ...labelled('NA').map((item, i) =>
      episode(`# Successful episode ${i + 1} in which the capability was not called for`, item),
    ),
    previous === null ? '' : feedbackSection(previous),
    `Write the environment for the capability "${capability.name}".`,
  ];
  return [
    { role: 'system', content: rulesOf(demands) },
    { role: 'user', content: sections.filter(Boolean).join('\n\n') },
  ];
}

const VERDICTS = `# What the target makes of its own solutions with one change
Scripts played the solutions of train tasks with one change each, whatever capability they need. Where one of these \
changes has the same meaning in your environment, judge it alike, and answer such a call alike.`;

const sampleLine = ({ name, arguments: given, observation }: ToolSample): string =>
  `- ${name} ${given} -> ${JSON.stringify(observation)}`;

function spokenSection({ episodes, withText, endedByText, texts }: TargetSamples['spoken']): string {
  if (withText === 0) return `# Text without a tool call\nNone of ${episodes} episodes of the agent has any.`;
  return (
    `# Text without a tool call\n${withText} of ${episodes} episodes of the agent have some, and ${endedByText} end ` +
    `with it. Examples:\n${texts.map((text) => `- ${JSON.stringify(text)}`).join('\n')}`
  );
}

function vocabularySection(vocabulary: readonly Values[]): string {
  if (vocabulary.length === 0) return '';
  const lines = vocabulary.map(
    ({ name, values, isOpen }) =>
      `- ${name}: ${values.map((value) => JSON.stringify(value)).join(', ')}${isOpen ? ' (each is another one)' : ''}`,
  );
  return `# The target's vocabulary: values in its calls and observations\n${lines.join('\n')}`;
}

function episode(title: string, { trajectory, label }: Evidence): string {
  const where = label.step === null ? '' : `Message ${label.step}: `;
  const shown = renderMessages(trajectory.messages, { maxMessageChars: MAX_MESSAGE_CHARS, withoutSystem: true });
  return `${title}\n${where}${label.reason.replace(/\s+/g, ' ')}\n${shown}`.trimEnd();
}

/** Schema of the analyst's answer: an environment, or the reason why there can be none. */
export const synthesisAnswerSchema = z
  .strictObject({
    rationale: z.string(),
    decline: z.strictObject({ reason: z.string().trim().min(1) }).nullable(),
    source: z.string().max(MAX_SOURCE_CHARS).nullable(),
  })
  .superRefine(({ decline, source }, context) => {
    const object = (message: string) => context.addIssue({ code: 'custom', path: ['source'], message });
    if ((decline === null) === (source === null)) object('give either source or decline, and null for the other');
    else if (source !== null && !/^class Environment\b/m.test(source))
      object('source must define class Environment at the top level');
  });
