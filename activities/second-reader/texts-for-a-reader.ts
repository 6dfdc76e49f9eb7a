import type { RolloutToRead } from '../../contracts/artifacts/second-reading';
import type { ChatMessage } from '../../contracts/artifacts/trajectory';

/**
 * Words for whoever labels an episode: names of labels as the question writes them, and of those who give labels. No
 * tool says them to an agent.
 */
const FOR_A_READER = [
  /\b(?:LACKING|PRESENT)\b/,
  /\b(?:annotator|grader|labell?er|rater)s?\b/i,
  /\blabel (?:this|it|the|as|each)\b/i,
  /\b(?:this|the) (?:capability|episode|rollout|trajectory|transcript)\b/i,
  /\bjudge (?:this|it|the)\b/i,
  /\b(?:ignore|disregard) (?:all |any |the |your )*(?:previous|prior|earlier|above) instructions\b/i,
];

/** An episode of the target, or a rollout in the environment. */
interface Read {
  messages: readonly ChatMessage[];
}

/** What an agent was told: by the system message, the user and the tools. */
const told = ({ messages }: Read): string[] =>
  messages.flatMap(({ role, content }) => (role === 'assistant' || content === null ? [] : content));

/** What an agent said: its texts and calls. */
const said = ({ messages }: Read): string[] =>
  messages
    .filter(({ role }) => role === 'assistant')
    .flatMap(({ content, tool_calls }) => [
      ...(content === null ? [] : [content]),
      ...(tool_calls ?? []).map(({ function: call }) => `${call.name} ${call.arguments}`),
    ]);

/** Words for a reader in these texts. Words that usual texts have as well are left out. */
function wordsIn(texts: readonly string[], usual: readonly string[]): string[] {
  const suspicious = FOR_A_READER.filter((pattern) => !usual.some((text) => pattern.test(text)));
  return texts.flatMap((text) => suspicious.flatMap((pattern) => pattern.exec(text)?.[0] ?? []));
}

/**
 * Words in an environment's texts that speak to a reader of its rollouts, each once. The environment's author also
 * wrote what is said in its reference solutions, and so in changed ones. Words that the target's episodes have as well,
 * at such places, are left out.
 */
export function textsForAReader(
  rollouts: readonly (Read & Pick<RolloutToRead, 'source'>)[],
  target: readonly Read[],
): string[] {
  const scripted = rollouts.filter(({ source }) => source !== 'base');
  const ofAgents = [...target.flatMap(told), ...target.flatMap(said)];
  return [
    ...new Set([
      ...wordsIn(rollouts.flatMap(told), target.flatMap(told)),
      ...wordsIn(scripted.flatMap(said), ofAgents),
    ]),
  ];
}
