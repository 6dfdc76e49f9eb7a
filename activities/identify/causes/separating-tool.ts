import { LABEL_CODES } from '../verdicts/label-codes';

/** Fewest episodes of each label, and the shares of them in which the tool is called. */
const SEPARATES = { episodes: 10, present: 0.75, lacking: 0.25 };

/** A tool whose call decides a label. */
interface SeparatingTool {
  tool: string;
  /** Share of the episodes that show the capability and call it, minus that of those that lack it. */
  difference: number;
}

/**
 * The tools whose call decides the label, the clearest first: episodes that show the capability call them, those that
 * lack it do not. Wrong labels are allowed for.
 * @param codes consensus label codes of the capability, by trajectory.
 * @param tools the tools that each trajectory calls.
 */
export function separatingTools(codes: Uint8Array, tools: readonly ReadonlySet<string>[]): SeparatingTool[] {
  const of = (label: number) => tools.filter((_, i) => codes[i] === label);
  const [present, lacking] = [of(LABEL_CODES.PRESENT), of(LABEL_CODES.LACKING)];
  if (Math.min(present.length, lacking.length) < SEPARATES.episodes) return [];
  const share = (some: readonly ReadonlySet<string>[], tool: string) =>
    some.filter((called) => called.has(tool)).length / some.length;
  return [...new Set(present.flatMap((called) => [...called]))]
    .map((tool) => ({ tool, present: share(present, tool), lacking: share(lacking, tool) }))
    .filter((one) => one.present >= SEPARATES.present && one.lacking <= SEPARATES.lacking)
    .map(({ tool, present, lacking }) => ({ tool, difference: present - lacking }))
    .sort((a, b) => b.difference - a.difference || (a.tool < b.tool ? -1 : 1));
}
