import type { ConsensusLabel, Label } from '../../contracts/artifacts/identification';
import type { ChatMessage, Trajectory } from '../../contracts/artifacts/trajectory';
import { contentKey } from '../../llm';
import { shorten } from '../render-messages';

const MAX_LACKING = 4;
const MAX_PRESENT = 3;
const MAX_SAMPLES_PER_TOOL = 3;
const MAX_SAMPLE_CHARS = 500;
const MAX_OPENINGS = 8;

/** An episode, and the analyst's label of the capability in it. */
export interface Evidence {
  trajectory: Trajectory;
  label: ConsensusLabel;
}

/** A call of one of the target's tools, and what it returned. */
export interface ToolSample {
  name: string;
  arguments: string;
  observation: string;
}

/** Samples of what the target shows: system message, openings, and calls with their answers. */
export interface TargetSamples {
  system: string | null;
  openings: string[];
  calls: ToolSample[];
}

/**
 * Chooses the labels of one capability to show: failures that lack it and successes that show it. Labels on which the
 * labelling runs agree most come first; the seed and the trajectory's id break ties.
 * @param success whether each trajectory succeeded, by id.
 */
export function chooseEvidence(
  labels: readonly ConsensusLabel[],
  success: ReadonlyMap<string, boolean>,
  seed: number,
): ConsensusLabel[] {
  const drawn = (wanted: Label, outcome: boolean, count: number) =>
    labels
      .filter(({ label, trajectoryId }) => label === wanted && success.get(trajectoryId) === outcome)
      .map((label) => ({
        label,
        share: agreement(label, wanted),
        rank: contentKey('evidence', String(seed), label.trajectoryId),
      }))
      .sort((a, b) => b.share - a.share || (a.rank < b.rank ? -1 : 1))
      .slice(0, count)
      .map(({ label }) => label);
  return [...drawn('LACKING', false, MAX_LACKING), ...drawn('PRESENT', true, MAX_PRESENT)];
}

const agreement = ({ votes }: ConsensusLabel, label: Label): number =>
  votes[label] / (votes.NA + votes.PRESENT + votes.LACKING);

/**
 * Samples from trajectories in their order: the system message, some openings, and some different calls of each tool.
 */
export function sampleTarget(trajectories: Iterable<Trajectory>): TargetSamples {
  const openings = new Set<string>();
  const calls = new Map<string, Map<string, ToolSample>>();
  let system: string | null = null;
  for (const { messages } of trajectories) {
    const first = messages.find(({ role }) => role === 'system');
    system ??= first?.content ?? null;
    const opening = messages.find(({ role }) => role === 'user')?.content;
    if (opening && openings.size < MAX_OPENINGS) openings.add(shorten(opening, MAX_SAMPLE_CHARS));
    for (const sample of callsOf(messages)) {
      const samples = calls.get(sample.name) ?? new Map<string, ToolSample>();
      calls.set(sample.name, samples);
      // Answers of different kinds tell more than the same kind again, so each beginning is kept once, digits aside.
      const form = sample.observation.replace(/\d+/g, '0').slice(0, 40);
      if (samples.size < MAX_SAMPLES_PER_TOOL && !samples.has(form)) samples.set(form, sample);
    }
  }
  const names = [...calls.keys()].sort();
  return { system, openings: [...openings], calls: names.flatMap((name) => [...(calls.get(name)?.values() ?? [])]) };
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
