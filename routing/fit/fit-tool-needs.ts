/** Learns which words in the results of tools show a need, and which call meets it. */
import { mean } from '../../activities/statistics/mean';
import { fitVocabulary, openingVectors } from '../opening-features';
import type { LabelledSteps } from '../labelled-tasks';
import type { ReadMessage } from '../opening-text';
import type { ToolNeedsModel } from '../router-parts';
import { calledTools, resultText } from '../tool-needs';
import { fitLogistic } from './logistic-regression';

/** A switch interrupts the style of a conversation, so a result must show the need clearly. */
const LEAST_PROBABILITY = 0.7;

/** Fewest episodes that showed a capability, and fewest that lacked it, before a call is said to meet the need. */
const LEAST_EPISODES = 5;

/** A call meets a need if this share of the episodes that showed the capability make it, and far fewer others do. */
const LEAST_SHARE = 0.7;
const LEAST_DIFFERENCE = 0.5;

/**
 * Fits the model on whole episodes. For each need, results after the first call that meets it do not count: they would
 * show that it was met.
 * @param episodes of the tasks that may be seen.
 */
export async function fitToolNeeds(
  episodes: readonly LabelledSteps[],
  capabilityIds: readonly string[],
  ridge: number,
): Promise<ToolNeedsModel> {
  const vocabulary = fitVocabulary(episodes.map(({ later }) => results(later).join('\n')));
  const vectorOf = openingVectors(vocabulary);
  const needs: ToolNeedsModel['needs'] = [];
  for (const capabilityId of capabilityIds) {
    const metBy = callThatMeets(episodes, capabilityId);
    const observations = episodes.flatMap(({ later, labels }) => {
      // A capability may be called `constructor`.
      if (!Object.hasOwn(labels, capabilityId)) return [];
      const label = labels[capabilityId];
      const until = metBy === null ? later : beforeCall(later, metBy.tool);
      return [{ features: vectorOf(results(until).join('\n')), share: label === 'NA' ? 0 : 1, trials: 1 }];
    });
    needs.push({ capabilityId, metBy, model: await fitLogistic(observations, vocabulary.terms.length, ridge) });
  }
  return { vocabulary, needs, threshold: LEAST_PROBABILITY };
}

const results = (messages: readonly ReadMessage[]): string[] =>
  messages.filter(({ role }) => role === 'tool').map(resultText);

/** The messages before the first call of a tool; all of them if there is none. */
function beforeCall(messages: readonly ReadMessage[], tool: string): readonly ReadMessage[] {
  const first = messages.findIndex((message) => calledTools(message).includes(tool));
  return first < 0 ? messages : messages.slice(0, first);
}

/** The tool that best separates episodes that showed a capability from those that lacked it; null: none does. */
function callThatMeets(
  episodes: readonly LabelledSteps[],
  capabilityId: string,
): { tool: string; calls: number } | null {
  const callsWith = (label: string) =>
    episodes
      .filter(({ labels }) => labels[capabilityId] === label)
      .map(({ later }) => later.flatMap((message) => calledTools(message)));
  const [shown, lacked] = [callsWith('PRESENT'), callsWith('LACKING')];
  if (shown.length < LEAST_EPISODES || lacked.length < LEAST_EPISODES) return null;
  const shareOf = (some: readonly string[][], tool: string) =>
    mean(some.map((calls) => (calls.includes(tool) ? 1 : 0)));
  const [best] = [...new Set(shown.flat())]
    .sort()
    .map((tool) => ({ tool, share: shareOf(shown, tool), difference: shareOf(shown, tool) - shareOf(lacked, tool) }))
    .filter(({ share, difference }) => share >= LEAST_SHARE && difference >= LEAST_DIFFERENCE)
    .sort((a, b) => b.difference - a.difference);
  if (best === undefined) return null;
  const counts = shown
    .map((calls) => calls.filter((name) => name === best.tool).length)
    .filter((count) => count > 0)
    .sort((a, b) => a - b);
  return { tool: best.tool, calls: counts[Math.floor(counts.length / 2)]! };
}
