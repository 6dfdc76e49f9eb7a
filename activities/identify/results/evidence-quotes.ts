import type { ConsensusLabel, EvidenceQuote } from '../../../contracts/artifacts/identification';
import type { ChatMessage, Trajectory } from '../../../contracts/artifacts/trajectory';
import { contentKey } from '../../../llm';
import { shorten } from '../../render-messages';

/** Largest number of quoted trajectories for a capability. */
const EVIDENCE_PER_CAPABILITY = 3;
const MAX_QUOTE = 400;
/** Messages before and after the step that are shown with it. */
const BEFORE = 3;
const AFTER = 2;

/** A failure that lacks a capability, with its index among the trajectories. */
export interface LackingFailure {
  label: ConsensusLabel;
  trajectory: number;
}

/**
 * The failures that best show a missing capability: they name a step, and the largest share of labelling runs says
 * LACKING. The seed breaks ties. Equal conversations, which have one id, count once.
 */
export function bestEvidence(lacking: readonly LackingFailure[], seed: number): LackingFailure[] {
  const agreement = ({ label: { votes } }: LackingFailure) =>
    votes.LACKING / (votes.NA + votes.PRESENT + votes.LACKING);
  const rank = ({ label }: LackingFailure) => contentKey('evidence', String(seed), label.trajectoryId);
  const different = new Map(lacking.map((failure) => [failure.label.trajectoryId, failure]));
  return [...different.values()]
    .filter(({ label }) => label.step !== null)
    .map((failure) => ({ failure, share: agreement(failure), rank: rank(failure) }))
    .sort((a, b) => b.share - a.share || (a.rank < b.rank ? -1 : 1))
    .slice(0, EVIDENCE_PER_CAPABILITY)
    .map(({ failure }) => failure);
}

/** A lacking label with a quote of the message that it names; null if the trajectory has no such message. */
export function quoteEvidence(
  { capabilityId, step, reason, votes }: ConsensusLabel,
  { id, task, trial, messages }: Trajectory,
): EvidenceQuote | null {
  const message = step === null ? undefined : messages[step];
  if (step === null || message === undefined) return null;
  const runs = votes.NA + votes.PRESENT + votes.LACKING;
  return {
    capabilityId,
    trajectoryId: id,
    task: task.seed,
    trial,
    step,
    quote: quoteOf(message),
    ...(task.split === 'live' && { passage: passageOf(messages, step) }),
    reason,
    runsLacking: votes.LACKING,
    runs,
  };
}

const quoteOf = (message: ChatMessage): string =>
  shorten(`${message.role}: ${wordsOf(message)}`.replace(/\s+/g, ' ').trim(), MAX_QUOTE);

/** What a message says and calls. */
function wordsOf({ content, tool_calls }: ChatMessage): string {
  const calls = (tool_calls ?? []).map(({ function: f }) => `${f.name} ${f.arguments}`);
  return [...(content ? [content] : []), ...calls].join('; ');
}

/** The messages around a step, without instructions of the system. */
const passageOf = (messages: readonly ChatMessage[], step: number): NonNullable<EvidenceQuote['passage']> =>
  [...messages.entries()]
    .slice(Math.max(0, step - BEFORE), step + AFTER + 1)
    .filter(([, { role }]) => role !== 'system')
    .map(([index, message]) => ({
      role: message.role,
      text: shorten(wordsOf(message).replace(/\s+/g, ' ').trim(), MAX_QUOTE),
      ...(index === step && { isStep: true as const }),
    }));
