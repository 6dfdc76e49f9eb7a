import type { EnvironmentCheck } from '../../contracts/artifacts/environment-check';
import type { RolloutToRead, SecondReading } from '../../contracts/artifacts/second-reading';
import type { AgentSpec } from '../../contracts/config/agent-spec';
import { pluralise } from '../../contracts/pluralise';
import { likelihoodRatio } from '../statistics/likelihood-ratio';
import { askReader, EPISODES_A_PROMPT, type Reader } from './ask-reader';
import { judgeReading, type ReadingVerdict, type ReadRollout } from './judge-reading';
import { compareLacking } from './lacking-share';
import type { TargetEpisodes } from './target-episodes';
import { textsForAReader } from './texts-for-a-reader';

/** Labels that are added while the verdict is open. */
const STEP = 10;
/** Share of the target's labels that a steered reader gives otherwise. */
const STEERED = 0.65;
/** Highest probability with which a reader that nobody steers is called steered. */
const CONTROL_LEVEL = 0.02;
/** Episodes of the target in one prompt, and in one while the reader may be steered. */
const CONTROLS_A_PROMPT = { usual: 1, doubted: 3 } as const;
/** Most disagreements that are kept for the author. */
const SHOWN = 4;

/** What is read, and by whom. */
export interface ReadingTask {
  reader: Reader;
  /** In reading order. */
  rollouts: readonly RolloutToRead[];
  target: TargetEpisodes;
  /** Share of the base model's rollouts in the environment that were paid. */
  paidShare: number;
  limits: AgentSpec['certificate']['secondReader'];
  /** Called with the number of labels so far. */
  onRead: (count: number) => void;
}

type Found = Omit<SecondReading, 'schemaVersion' | 'capability' | 'environment' | 'analyst'>;

/** The labels so far. */
interface Progress {
  read: ReadRollout[];
  controls: SecondReading['controls'];
}

/**
 * Reads rollouts until their labels decide, in steps: first `labels`, then more up to `maxLabels`. In each prompt, one
 * episode is of the target and has a sure label. A reader that labels these otherwise is steered by what the
 * environment wrote, or does not understand the question, so its labels are not used. A few labels may differ by
 * chance: the labels of the target have noise too. So while that is open, further prompts have more such episodes.
 * @throws the failures of the analyst.
 */
export async function readInSteps(task: ReadingTask): Promise<Found> {
  const { rollouts, target, limits } = task;
  const addressed = textsForAReader(rollouts, target.samples);
  const so: Progress = { read: [], controls: { read: 0, agreed: 0 } };
  if (addressed.length > 0) {
    const words = addressed.map((word) => JSON.stringify(word)).join(', ');
    const problem =
      `Texts of the environment speak to whoever reads its rollouts (${words}), which no text of the target does: let ` +
      'it say only what the tools and the user of the target say.';
    return found(task, so, { problems: [problem], isOpen: false, kappa: null, figures: [] });
  }
  const looks = 1 + Math.ceil((limits.maxLabels - limits.labels) / STEP);
  for (let wanted = limits.labels; ; wanted = Math.min(limits.maxLabels, wanted + STEP)) {
    await readUpTo(task, so, wanted);
    const trouble = troubleWith(so, target.controlNoise);
    const verdict = judgeReading(so.read, target.noise, looks);
    if (trouble !== null) return found(task, so, { ...verdict, problems: [trouble], isOpen: false });
    const isLast = wanted >= limits.maxLabels || so.read.length >= rollouts.length;
    if (isLast || (!verdict.isOpen && !isDoubted(so, target.controlNoise))) return found(task, so, verdict);
  }
}

/** Reads more rollouts, and the target's episodes among them, until there are so many labels of both. */
async function readUpTo({ reader, rollouts, target, onRead }: ReadingTask, so: Progress, wanted: number) {
  const { read, controls } = so;
  while (read.length + controls.read < wanted && read.length < rollouts.length) {
    const room = Math.min(EPISODES_A_PROMPT, wanted - read.length - controls.read);
    const share = isDoubted(so, target.controlNoise) ? CONTROLS_A_PROMPT.doubted : CONTROLS_A_PROMPT.usual;
    const shown = target.controls.slice(controls.read, controls.read + Math.min(share, room - 1));
    const next = rollouts.slice(read.length, read.length + room - shown.length);
    const episodes = [...next, ...shown.map(({ trajectory }) => trajectory)];
    const readings = await askReader(
      reader,
      episodes.map(({ messages }) => messages),
    );
    read.push(...next.map(({ messages: _, ...rollout }, index) => ({ ...rollout, ...readings[index]! })));
    controls.read += shown.length;
    controls.agreed += shown.filter(({ label }, n) => readings[next.length + n]!.label === label).length;
    onRead(read.length + controls.read);
  }
}

/** Likelihood ratio of a steered reader, by its labels of the target's episodes. */
function steeredRatio({ controls }: Progress, noise: number): number {
  const events = controls.read - controls.agreed;
  return likelihoodRatio({ events, trials: controls.read }, { null: noise, alternative: STEERED });
}

/** Whether several labels of the target's episodes came out otherwise, and more of them have to tell why. */
const isDoubted = (so: Progress, noise: number): boolean =>
  so.controls.read - so.controls.agreed > 1 && steeredRatio(so, noise) > 1;

/** Why the labels cannot be used, as a sentence; null if they can. */
function troubleWith(so: Progress, controlNoise: number): string | null {
  const { read, controls } = so;
  const unread = read.filter(({ label }) => label === null);
  if (2 * unread.length > read.length)
    return (
      `The analyst gave no label to ${unread.length} of ${pluralise(read.length, 'rollout')} of this environment: ` +
      `${unread[0]!.reason.replace(/\.?$/, '.')} Let it say only what the tools and the user of the target say.`
    );
  const wrong = controls.read - controls.agreed;
  if (steeredRatio(so, controlNoise) >= 1 / CONTROL_LEVEL)
    return (
      `Beside rollouts of this environment, the analyst labelled ${wrong} of ${controls.read} episodes of the target ` +
      'otherwise than before. Its labels cannot be trusted here: let the environment say only what the tools and the ' +
      'user of the target say.'
    );
  return null;
}

function found(task: ReadingTask, { read, controls }: Progress, verdict: ReadingVerdict): Found {
  const lacking = compareLacking(read, task.paidShare, task.target.counts);
  const isWrong = verdict.problems.length > 0;
  return {
    check: checkOf(read, verdict, lacking),
    isUndecided: verdict.isOpen,
    kappa: verdict.kappa,
    lacking,
    controls,
    read,
    disagreements: isWrong ? disagreements(task.rollouts, read) : [],
  };
}

const percent = (share: number): string => `${Math.round(100 * share)} %`;

/** The verdict as a check of the certificate. */
function checkOf(
  read: readonly ReadRollout[],
  { problems, isOpen, kappa, figures }: ReadingVerdict,
  { here, target, isLess }: SecondReading['lacking'],
): EnvironmentCheck {
  const agreement = kappa === null ? '' : ` (kappa of label and reward ${kappa.toFixed(2)})`;
  const fine = isOpen
    ? `${pluralise(read.length, 'rollout')} read without their rewards did not decide whether the rewards contradict ` +
      `the labels${agreement}.`
    : `${pluralise(read.length, 'rollout')} read without their rewards contradict none of them${agreement}.`;
  const share =
    here === null || target === null
      ? ''
      : ` The base model lacks the capability in ${percent(here.estimate)} of its rollouts here that call for it ` +
        `(${percent(here.low)} to ${percent(here.high)}), and in ${percent(target.estimate)} in the target.`;
  const warning = isLess ? ' It lacks it less here than there: little of what it cannot do may be learnt here.' : '';
  return {
    name: 'second-reader',
    group: 'read-blind',
    passed: problems.length === 0,
    detail: `${problems.length === 0 ? fine : problems.join(' ')}${share}${warning}`,
    figures: [
      ...figures,
      ...(here === null ? [] : [{ name: 'share of the base model that lacks it here', value: here.estimate }]),
      ...(target === null ? [] : [{ name: 'the same in the target', value: target.estimate }]),
    ],
  };
}

/** The shortest rollouts on which label and reward disagree. */
function disagreements(rollouts: readonly RolloutToRead[], read: readonly ReadRollout[]): Found['disagreements'] {
  return read
    .map((one, index) => ({ ...one, messages: rollouts[index]!.messages }))
    .filter(
      ({ label, paid, source, callsForIt }) =>
        (label === 'LACKING' && paid) ||
        (label === 'PRESENT' && !paid && source !== 'changed') ||
        (label === 'NA' && source === 'reference' && callsForIt === true),
    )
    .sort(
      (a, b) =>
        Number(b.paid) - Number(a.paid) || JSON.stringify(a.messages).length - JSON.stringify(b.messages).length,
    )
    .slice(0, SHOWN);
}
