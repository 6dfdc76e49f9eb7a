import type { CalibrationResult, EnvironmentAttempt } from '../../contracts/artifacts/environment-attempt';
import type { EnvironmentCheck, Figure } from '../../contracts/artifacts/environment-check';
import type { SecondReading } from '../../contracts/artifacts/second-reading';
import type { ChatMessage, Trajectory } from '../../contracts/artifacts/trajectory';
import { renderMessages, shorten } from '../render-messages';

const MAX_DETAIL_CHARS = 1_500;
const MAX_REJECTED_CHARS = 40_000;
const MAX_ROLLOUT_MESSAGE_CHARS = 1_500;
const MAX_ROLLOUT_CHARS = 8_000;

/** A refused attempt, with the evidence. */
export interface RejectedAttempt {
  attempt: number;
  source: string;
  validation: EnvironmentAttempt['validation'];
  /** null if it failed a check. */
  calibration: CalibrationResult | null;
  /** The base model's rollouts in it, with rewards; empty if it could not be played. */
  rollouts: readonly Trajectory[];
  /** What a second reader found in it; null if it got no reading. */
  reading: Pick<SecondReading, 'check' | 'disagreements'> | null;
  /** The outcomes of the attempts so far, including this one. */
  history: readonly { attempt: number; outcome: string }[];
}

/** The section of the prompt about a refused attempt: numbers, rollouts, the file, and the task for the analyst. */
export function feedbackSection(rejected: RejectedAttempt): string {
  const { attempt, source, validation, calibration, rollouts, reading, history } = rejected;
  const earlier = history.filter((one) => one.attempt !== attempt);
  return [
    `# Attempt ${attempt} was rejected`,
    earlier.length === 0
      ? ''
      : `Before it:\n${earlier.map((one) => `- attempt ${one.attempt}: ${one.outcome.replace(/\s+/g, ' ')}`).join('\n')}`,
    `The checks that need no model, with their numbers:\n${validation.checks.map(checkLine).join('\n')}`,
    calibration === null ? '' : calibrationText(calibration),
    ...rollouts.map(rolloutText),
    reading === null ? '' : readingText(reading),
    `The rejected file:\n${indent(shorten(source, MAX_REJECTED_CHARS))}`,
    whatToDo(rejected),
  ]
    .filter(Boolean)
    .join('\n');
}

function checkLine({ name, passed, detail, figures }: EnvironmentCheck): string {
  const numbers = figures.length === 0 ? '' : ` [${figures.map(figureText).join('; ')}]`;
  return passed
    ? `- check ${name}: passed${numbers}`
    : `- check ${name}: FAILED: ${shorten(detail, MAX_DETAIL_CHARS)}${numbers}`;
}

function figureText({ name, value, atLeast, atMost }: Figure): string {
  const held = [
    ...(atLeast === undefined ? [] : [`at least ${rounded(atLeast)}`]),
    ...(atMost === undefined ? [] : [`at most ${rounded(atMost)}`]),
  ];
  return `${name} ${rounded(value)}${held.length === 0 ? '' : ` (${held.join(', ')})`}`;
}

const rounded = (value: number): string => String(Math.round(1000 * value) / 1000);

/** The fields of a calibration that the analyst sees, in this order. */
const NUMBERS: (keyof CalibrationResult)[] = [
  'meanReward',
  'meanSuccess',
  'allSuccessGroups',
  'allZeroGroups',
  'constantGroups',
  'informativeGroups',
  'rewardStd',
];

function calibrationText(calibration: CalibrationResult): string {
  if (calibration.faulty)
    return (
      'Its own code failed while the agent played in it; ' +
      `that has to be corrected before the figures mean anything:\n${listed(calibration.problems)}`
    );
  return (
    `Calibration with ${calibration.rollouts} attempts of the agent at ${calibration.seeds} tasks: ` +
    `${calibration.verdict}.\n${listed(calibration.problems)}\nNumbers: ${JSON.stringify(calibration, NUMBERS)}`
  );
}

function rolloutText({ task, reward, success, finish, messages }: Trajectory, index: number): string {
  const title =
    `## What the agent did in it, ${index + 1}: task ${task.seed}, reward ${rounded(reward)}, ` +
    `${success ? 'success' : 'no success'}, ended by ${finish}`;
  return `${title}\n${shownMessages(messages)}`.trimEnd();
}

const shownMessages = (messages: readonly ChatMessage[]): string =>
  shorten(
    renderMessages(messages, { maxMessageChars: MAX_ROLLOUT_MESSAGE_CHARS, withoutSystem: true }),
    MAX_ROLLOUT_CHARS,
  );

/** Words for whose rollout it was. */
const ACTED = { base: 'the agent', reference: 'your reference solution', changed: 'a changed solution' } as const;

function readingText({ check, disagreements }: NonNullable<RejectedAttempt['reading']>): string {
  const head =
    'A second reader labelled rollouts in it for the capability, as the episodes of the target were labelled. It saw ' +
    `neither the file nor the rewards. ${shorten(check.detail, MAX_DETAIL_CHARS)}`;
  const shown = disagreements.map(({ source, change, seed, reward, label, reason, messages }, index) => {
    const who = change === null ? ACTED[source] : `${ACTED[source]} (${change})`;
    const title =
      `## Where label and reward disagree, ${index + 1}: task ${seed}, ${who}: reward ${rounded(reward)}, label ` +
      `${String(label)}: ${reason.replace(/\s+/g, ' ')}`;
    return `${title}\n${shownMessages(messages)}`.trimEnd();
  });
  return [head, ...shown].join('\n');
}

function whatToDo({ calibration, rollouts, reading }: RejectedAttempt): string {
  const keep =
    'The capability stays what it is: a change touches what stands around it, never what it asks of the agent nor ' +
    'how often a task needs it. All checks run again, the reference solution included.';
  if (calibration === null || calibration.faulty || calibration.verdict === 'differs-by-seed')
    return `Correct what was found; keep what was right. ${keep}`;
  if (reading !== null)
    return (
      'Take the disagreements as evidence: say in "rationale" for what the reward pays in them, and what the ' +
      'description asks for. Correct the reward, the reference solutions or "skill_calls" until they follow the ' +
      `description, its exceptions included. ${keep}`
    );
  const evidence = rollouts.length > 0 ? 'the rollouts and the numbers' : 'the numbers';
  return (
    `Find out from ${evidence} why the agent earns what it earns: say in "rationale" where it gains and loses ` +
    "reward here, whether for the same cause as in the target's failed episodes, and which one change follows from " +
    'that. Then make this change and leave the rest as it is. Where the file rests on a wrong idea of what is hard, ' +
    `write another one for the same capability. ${keep}`
  );
}

const listed = (problems: readonly string[]): string => problems.map((problem) => `- ${problem}`).join('\n');

/** The text with each line indented, so that nothing in it looks like a heading. */
export const indent = (text: string): string => text.replace(/^/gm, '    ');
