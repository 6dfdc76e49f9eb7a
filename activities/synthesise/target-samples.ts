import type { ChatMessage, Trajectory } from '../../contracts/artifacts/trajectory';
import { startOf } from '../../contracts/clean-text';
import { shorten } from '../render-messages';
import { type Values, Vocabulary } from './vocabulary';

const MAX_SAMPLES_PER_TOOL = 3;
const MAX_SAMPLE_CHARS = 500;
const MAX_OPENINGS = 8;
const MAX_ERRORS = 6;
const MAX_TEXTS = 3;

/** A call of one of the target's tools, and its answer. */
export interface ToolSample {
  name: string;
  arguments: string;
  observation: string;
}

/** Samples of the target's messages, calls and answers. */
export interface TargetSamples {
  system: string | null;
  openings: string[];
  calls: ToolSample[];
  /** Calls that the target did not accept; first comes one of each tool. */
  errors: ToolSample[];
  /**
   * Texts of the agent without a call. The counts are the episodes examined, those with such a text, and those that end
   * with one.
   */
  spoken: { episodes: number; withText: number; endedByText: number; texts: string[] };
  vocabulary: Values[];
}

/**
 * Samples from trajectories in their order: the system message, some openings, some different calls of each tool,
 * rejected calls, texts of the agent, and named values.
 */
export function sampleTarget(trajectories: Iterable<Trajectory>): TargetSamples {
  const openings = new Set<string>();
  const calls = new Map<string, Map<string, ToolSample>>();
  const errors: ToolSample[] = [];
  const spoken: TargetSamples['spoken'] = { episodes: 0, withText: 0, endedByText: 0, texts: [] };
  const vocabulary = new Vocabulary();
  let system: string | null = null;
  for (const { messages } of trajectories) {
    const first = messages.find(({ role }) => role === 'system');
    system ??= first?.content ?? null;
    const opening = messages.find(({ role }) => role === 'user')?.content;
    if (opening && openings.size < MAX_OPENINGS) openings.add(shorten(opening, MAX_SAMPLE_CHARS));
    listen(messages, spoken);
    vocabulary.add(messages);
    for (const sample of callsOf(messages)) {
      if (isError(sample.observation)) errors.push(sample);
      const samples = calls.get(sample.name) ?? new Map<string, ToolSample>();
      calls.set(sample.name, samples);
      // A new kind of answer is worth more than a known one. Answers of one kind begin alike, apart from digits.
      const form = formOf(sample);
      if (samples.size < MAX_SAMPLES_PER_TOOL && !samples.has(form)) samples.set(form, sample);
    }
  }
  const names = [...calls.keys()].sort();
  return {
    system,
    openings: [...openings],
    calls: names.flatMap((name) => [...(calls.get(name)?.values() ?? [])]),
    errors: differentErrors(errors),
    spoken,
    vocabulary: vocabulary.list(),
  };
}

const formOf = ({ observation }: ToolSample): string => startOf(observation.replace(/\d+/g, '0'), 40);

/** Whether an observation says that a call was not accepted: in JSON by a member's name, in text by its beginning. */
function isError(observation: string): boolean {
  let value: unknown;
  try {
    value = JSON.parse(observation);
  } catch {
    value = observation;
  }
  if (typeof value === 'string')
    return /^\W*(error|invalid|unknown|exception|failed|failure|cannot|no such|missing|not (found|allowed))\b/i.test(
      value,
    );
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  return Object.entries(value).some(([name, member]) =>
    /^(error|errors|exception|fault)$/i.test(name)
      ? member !== null && member !== false && member !== ''
      : /^(ok|success)$/i.test(name) && member === false,
  );
}

/**
 * Answers to malformed calls, at most `MAX_ERRORS`, which the errors of episodes do not show. No episode of the agent
 * may have such a call.
 */
export function unseenRefusals(errors: readonly ToolSample[], refused: readonly ToolSample[]): ToolSample[] {
  const known = new Set(errors.map(({ observation }) => observation));
  return refused.filter(({ observation }) => !known.has(observation)).slice(0, MAX_ERRORS);
}

/** One error of each form. The first error of every tool comes before the second of any tool. */
function differentErrors(errors: readonly ToolSample[]): ToolSample[] {
  const forms = new Map<string, ToolSample>();
  for (const sample of errors) {
    const form = `${sample.name} ${formOf(sample)}`;
    if (!forms.has(form)) forms.set(form, sample);
  }
  const turn = new Map<string, number>();
  return [...forms.values()]
    .map((sample) => {
      const nth = turn.get(sample.name) ?? 0;
      turn.set(sample.name, nth + 1);
      return { sample, nth };
    })
    .sort((a, b) => a.nth - b.nth)
    .slice(0, MAX_ERRORS)
    .map(({ sample }) => sample);
}

function listen(messages: readonly ChatMessage[], spoken: TargetSamples['spoken']): void {
  const texts = messages.filter(
    ({ role, content, tool_calls: calls }) => role === 'assistant' && content && (calls ?? []).length === 0,
  );
  spoken.episodes++;
  if (texts.length === 0) return;
  spoken.withText++;
  if (texts.includes(messages.at(-1)!)) spoken.endedByText++;
  if (spoken.texts.length < MAX_TEXTS) spoken.texts.push(shorten(texts.at(-1)!.content!, MAX_SAMPLE_CHARS));
}

function callsOf(messages: readonly ChatMessage[]): ToolSample[] {
  const answers = new Map(
    messages.flatMap((m) =>
      m.role === 'tool' && m.tool_call_id !== undefined ? [[m.tool_call_id, m.content ?? ''] as const] : [],
    ),
  );
  return messages.flatMap((m) =>
    (m.tool_calls ?? []).flatMap(({ id, function: f }) => {
      const observation = answers.get(id);
      return observation === undefined
        ? []
        : [
            {
              name: f.name,
              arguments: shorten(f.arguments, MAX_SAMPLE_CHARS),
              observation: shorten(observation, MAX_SAMPLE_CHARS),
            },
          ];
    }),
  );
}
