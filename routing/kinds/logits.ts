import { z } from 'zod';
import { NONE_LABEL } from '../../contracts/names';
import { fitTemperature, fitThreshold } from '../fit/fit-calibration';
import type { Kind } from '../kind';
import type { RoutingTask } from '../labelled-tasks';
import { calibratedChoice, type RouterCalibration } from '../menu-answer';
import { routerMenu } from '../router-prompt';
import { laterTurns, leftOut, severalNeeds, toolNeeds } from '../router-parts';

const schema = z
  .strictObject({
    kind: z.literal('logits'),
    leftOut,
    capabilities: z
      .array(z.strictObject({ id: z.string(), summary: z.string() }))
      .describe('What the menu offers the base model.'),
    temperature: z.number().positive().describe('Divides the log probabilities of the labels.'),
    threshold: z
      .number()
      .min(0)
      .max(1)
      .describe('Below this calibrated probability the base model gets the conversation.'),
    severalNeeds,
    laterTurns,
    toolNeeds,
  })
  .describe('The base model reads a menu and answers with a label (paper, section 5).');

/** The paper's router: the base model reads one line per capability, and answers with one letter. */
export const logits: Kind<z.infer<typeof schema>> = {
  schema,
  needs: { mixed: false, outcomes: false },
  choosesArms: true,
  saysNeeds: true,
  fit: ({ tasks, capabilities }) =>
    Promise.resolve({
      kind: 'logits',
      leftOut: [],
      capabilities: capabilities.map(({ id, summary }) => ({ id, summary })),
      ...calibrationOf(tasks, capabilities),
    }),
  menu: ({ capabilities }) => capabilities,
  open: (router) => (_, answer) => {
    if (answer === null) throw new TypeError('The router `logits` needs the answer of the base model.');
    const { capabilityId, probability, abstained } = calibratedChoice(answer, router);
    return { capabilityId, probability, reason: abstained ? 'abstained' : 'routed' };
  },
  arms: ({ capabilities }) => capabilities.map(({ id }) => id),
  words: {
    report: 'The base model chose one letter of a menu for each task.',
    learnsFrom: 'nothing; labels fit its temperature and its threshold',
    cost: 'one token of the base model',
  },
};

/**
 * Temperature and threshold with which the menu's answers agree best with the labels of these tasks. A task with
 * several needs counts for the need that is likeliest according to the base model.
 */
function calibrationOf(
  tasks: readonly RoutingTask[],
  capabilities: readonly { id: string; summary: string }[],
): RouterCalibration {
  const menu = routerMenu(capabilities).map(({ capabilityId }) => capabilityId);
  const judged = tasks.flatMap(({ needs, answer }) => {
    if (answer === null) return [];
    const right = needs.length === 0 ? [NONE_LABEL] : needs;
    const places = right.map((id) => menu.indexOf(id)).filter((place) => place >= 0);
    const probability = (place: number) => answer.probabilities[place] ?? 0;
    const likeliest = places.reduce((a, b) => (probability(b) > probability(a) ? b : a), places[0] ?? menu.length - 1);
    return [{ answer, right: likeliest, needs: right }];
  });
  const temperature =
    judged.length === 0
      ? 1
      : fitTemperature(judged.map(({ answer, right }) => ({ probabilities: answer.probabilities, right })));
  const choices = judged
    .filter(({ answer }) => answer.capabilityId !== NONE_LABEL)
    .map(({ answer, needs }) => ({
      probabilities: answer.probabilities,
      base: needs.includes(NONE_LABEL) ? 1 : 0,
      chosen: needs.includes(answer.capabilityId) ? 1 : 0,
    }));
  return { temperature, threshold: fitThreshold(choices, temperature) };
}
