import { setImmediate } from 'node:timers/promises';
import type { Candidate, Contrast } from '../../contracts/artifacts/identification';
import type { PreparedSpec } from '../../contracts/artifacts/prepared-spec';
import type { Trajectory } from '../../contracts/artifacts/trajectory';
import { Progress } from '../progress';
import type { SolutionPlayer } from '../target-profile/play-solutions';
import { missingValue } from './causes/missing-value';
import { stepOf, toolsOf } from './causes/step-of-candidate';
import { type ArgumentSources, argumentSources } from './causes/unseen-values';
import { LABEL_CODES } from './verdicts/label-codes';
import type { TrajectoryOutcomes } from './verdicts/task-sums';
import { verdictReason } from './verdicts/verdict-reason';
import type { VerdictRule } from './verdicts/verdict-rule';

/**
 * Failed tasks whose solution is played without a tool. All solutions of at least so many must be accepted, so that the
 * step matters in few of the tasks that lack it: below 14 % of them after 20, below 5 % after 60 (95 %). The tool may
 * tell the agent nothing: solutions do without look-ups because they know the answers.
 */
const WITHOUT_TOOL = { most: 60, fewest: 20 };
/** Solutions that are searched for a value, and the share of them in which no message may contain it. */
const SOLUTIONS = { most: 40, fewest: 10, share: 0.9 };
/** Fewest successes that show a capability, and their least share, that refute "it cannot be trained". */
const REFUTES = { successes: 3, share: 0.1 };

/** What the messages of all episodes say, by trajectory. */
export interface EpisodeFacts {
  /** Seed of a train task; null for others, such as live traffic. */
  seeds: (number | null)[];
  /** Tools that the agent calls. */
  tools: ReadonlySet<string>[];
  sources: ArgumentSources[];
}

/** The facts of one episode. */
export function factsOf({ task, messages }: Pick<Trajectory, 'task' | 'messages'>) {
  return {
    seed: task.split === 'train' ? task.seed : null,
    tools: new Set(messages.flatMap(({ tool_calls: calls }) => (calls ?? []).map((call) => call.function.name))),
    sources: argumentSources(messages),
  };
}

/** Everything beside the contrasts that their correction needs. */
export interface TargetEvidence {
  candidates: readonly Candidate[];
  /** Consensus label codes of each candidate, by trajectory. */
  codes: readonly Uint8Array[];
  outcomes: TrajectoryOutcomes;
  facts: EpisodeFacts;
  /** It pays for the solutions that are played. */
  runId: string;
  prepared: PreparedSpec;
  player: SolutionPlayer;
  rule: VerdictRule;
  signal: AbortSignal;
}

/**
 * Corrects the verdicts by what messages and the agent's own environment prove. A candidate whose step can be left out
 * of the environment's own solutions is rejected. Another that needs a value which nothing gives cannot be
 * trained, nor one of which the analyst says so while hardly an episode shows it.
 */
export async function withTargetEvidence(
  contrasts: readonly Contrast[],
  evidence: TargetEvidence,
): Promise<Contrast[]> {
  const corrected: Contrast[] = [];
  using progress = new Progress({ stage: 'identify', unit: 'verdicts', total: contrasts.length });
  for (const [c, contrast] of contrasts.entries()) {
    const changed = await correct(contrast, c, evidence);
    corrected.push(changed === contrast ? contrast : { ...changed, reason: verdictReason(changed, evidence.rule) });
    progress.advance();
    await setImmediate();
  }
  return corrected;
}

async function correct(contrast: Contrast, c: number, evidence: TargetEvidence): Promise<Contrast> {
  const isCompanion = contrast.verdict === 'rejected' && contrast.missed.includes('effect');
  if (contrast.verdict === 'rejected' && !isCompanion) return contrast;
  const decidesNothing = contrast.verdict === 'not-trainable' ? undefined : await leftOutOfSolutions(c, evidence);
  if (decidesNothing !== undefined)
    return { ...contrast, ...REJECTED, partial: { ...contrast.partial, decidesNothing } };
  if (isCompanion) return contrast;
  const missing = await valueThatNothingGives(c, evidence);
  const claim = claimOf(c, evidence);
  if (missing === undefined && claim === undefined) return contrast;
  const partial = { ...contrast.partial, ...(missing && { missingValue: missing }), ...(claim && { claim }) };
  // A gap says more than values that only seem to come from nowhere.
  const isProved = missing !== undefined && !contrast.kept;
  const isUnrefuted = claim !== undefined && !isRefuted(claim);
  return isProved || isUnrefuted ? { ...contrast, ...NOT_TRAINABLE, partial } : { ...contrast, partial };
}

const REJECTED = {
  ...{ verdict: 'rejected', missed: ['effect'], kept: false, moreFailures: null },
} satisfies Partial<Contrast>;
const NOT_TRAINABLE = {
  ...{ verdict: 'not-trainable', missed: [], kept: false, moreFailures: null },
} satisfies Partial<Contrast>;

/** The train tasks of the failures that lack a candidate, each once. */
function failedSeeds(c: number, { codes, outcomes, facts }: TargetEvidence): number[] {
  const lacking = facts.seeds.filter(
    (seed, i) => seed !== null && codes[c]![i] === LABEL_CODES.LACKING && outcomes.success[i] === 0,
  );
  return [...new Set(lacking as number[])];
}

async function leftOutOfSolutions(c: number, evidence: TargetEvidence): Promise<Contrast['partial']['decidesNothing']> {
  const { candidates, codes, facts, player, signal } = evidence;
  const tools = toolsOf(stepOf(candidates[c]!, codes[c]!, facts.tools));
  const seeds = failedSeeds(c, evidence).slice(0, WITHOUT_TOOL.most);
  if (tools.length === 0 || seeds.length < WITHOUT_TOOL.fewest) return undefined;
  const played = await player.withoutTools(evidence, tools, seeds, signal);
  const isProved =
    played !== null && !played.informs && played.tried >= WITHOUT_TOOL.fewest && played.accepted === played.tried;
  return isProved ? { tool: tools.join(', '), tasks: played.tried } : undefined;
}

async function valueThatNothingGives(
  c: number,
  evidence: TargetEvidence,
): Promise<Contrast['partial']['missingValue']> {
  const { codes, outcomes, facts, player, signal } = evidence;
  const missing = missingValue(codes[c]!, facts.sources, outcomes);
  if (missing === null) return undefined;
  const played = await player.messages(evidence, failedSeeds(c, evidence).slice(0, SOLUTIONS.most), signal);
  const sources = (played ?? []).map(argumentSources);
  const unseen = sources.filter((one) => one.unseen.has(missing.argument)).length;
  const used = unseen + sources.filter((one) => one.seen.has(missing.argument)).length;
  if (used < SOLUTIONS.fewest) return { ...missing, solutions: null };
  // The environment's own solutions find the value, so the agent only never asks for it.
  return unseen < SOLUTIONS.share * used ? undefined : { ...missing, solutions: unseen };
}

type Claim = NonNullable<Contrast['partial']['claim']>;

function claimOf(c: number, { candidates, codes, outcomes }: TargetEvidence): Claim | undefined {
  const reason = candidates[c]!.notTrainable;
  if (reason === undefined) return undefined;
  const own = codes[c]!;
  return {
    reason,
    shown: own.filter((code, i) => code === LABEL_CODES.PRESENT && outcomes.success[i] === 1).length,
    calledFor: own.filter((code) => code >= LABEL_CODES.PRESENT).length,
  };
}

const isRefuted = ({ shown, calledFor }: Claim): boolean =>
  shown >= REFUTES.successes && shown >= REFUTES.share * calledFor;
