import type { Candidate } from '../../../contracts/artifacts/identification';
import { separatingTools } from './separating-tool';

/** Of several tools that tell the episodes apart, the clearest is the step if it is clearer by this. */
const CLEARER = 0.1;

/** The tools of a candidate's step in alphabetical order, or why no step is known. */
type Step = { tools: string[] } | { none: string };
/** The tools of a step; none if it is not known. */
export const toolsOf = (step: Step): string[] => ('tools' in step ? step.tools : []);

/**
 * The step of a candidate: of the tools that tell its episodes apart those that its text names, else the clearest one.
 * Where two candidates are always lacking together, the tools of both tell the episodes of each apart.
 * @param codes consensus label codes of the candidate, by trajectory.
 * @param tools the tools that each trajectory calls.
 */
export function stepOf(
  { name, summary, description }: Candidate,
  codes: Uint8Array,
  tools: readonly ReadonlySet<string>[],
): Step {
  const found = separatingTools(codes, tools);
  const text = plain(`${name} ${summary} ${description}`);
  const named = found.filter(({ tool }) => text.includes(plain(tool)));
  if (named.length > 0) return { tools: named.map(({ tool }) => tool).sort() };
  const [first, second] = found;
  if (first === undefined) return { none: "no tool's calls tell the episodes that show it from those that lack it" };
  if (second === undefined || first.difference - second.difference >= CLEARER) return { tools: [first.tool] };
  return { none: `the calls of ${first.tool} and of ${second.tool} tell its episodes apart equally well` };
}

/** Words of a text between blanks, so that `open_door` is found in "open door" and not in "open doors". */
const plain = (text: string): string =>
  ` ${text
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]+/gu, ' ')
    .trim()} `;
