import type { ExperimentQuestion } from '../../../contracts/artifacts/experiment';
import type { Candidate, Contrast } from '../../../contracts/artifacts/identification';
import { contentKey } from '../../../llm';
import { stepOf, toolsOf } from '../causes/step-of-candidate';
import { LEAST_EFFECT } from '../causes/judge-effects';
import type { EpisodeFacts } from '../target-evidence';
import { LABEL_CODES } from '../verdicts/label-codes';
import type { VerdictRule } from '../verdicts/verdict-rule';

/** Fewest rollouts for one experiment: 20 pairs without any difference are just enough to say "no effect". */
const FEWEST_ROLLOUTS = 40;

/** What the labels say of all candidates. */
export interface LabelledRun {
  candidates: readonly Candidate[];
  /** Consensus label codes of each candidate, by trajectory. */
  codes: readonly Uint8Array[];
  facts: Pick<EpisodeFacts, 'seeds' | 'tools'>;
  rule: Pick<VerdictRule, 'minGap' | 'minCoverage' | 'familywiseError'>;
  /** Most rollouts of all experiments. */
  budget: number;
  /** Decides the order of tasks that lack a candidate equally often. */
  seed: number;
}

/** The experiments that a run may make, and why it makes none for other candidates that the labels leave open. */
export interface OpenQuestions {
  questions: ExperimentQuestion[];
  /** By id of the candidate. */
  without: Map<string, string>;
}

/**
 * What the labels leave open and an experiment may decide, the candidates that explain most failures first. An
 * experiment needs a step: tools whose calls tell the episodes that show the candidate from those that lack it. The
 * steps of all others that may be causes, or that go along with it, are held.
 */
export function experimentQuestions(contrasts: readonly Contrast[], run: LabelledRun): OpenQuestions {
  const steps = contrasts.map((_, c) => stepOf(run.candidates[c]!, run.codes[c]!, run.facts.tools));
  const groups = groupsOf(contrasts);
  const questions: ExperimentQuestion[] = [];
  const without = new Map<string, string>();
  const weight = (c: number) => (contrasts[c]!.gap ?? 0) * contrasts[c]!.coverage;
  const isCause = (c: number) => ['kept', 'not-enough-data'].includes(contrasts[c]!.verdict);
  const open = [...contrasts.keys()].filter((c) => isOpen(contrasts[c]!, contrasts, run.rule));
  for (const c of open.sort((a, b) => weight(b) - weight(a) || a - b)) {
    const { capabilityId } = contrasts[c]!;
    const step = steps[c]!;
    const others = [...contrasts.keys()].filter(
      (other) => other !== c && (groups[other] === groups[c] || isCause(other)),
    );
    const same = others.find((other) => 'tools' in step && toolsOf(steps[other]!).join() === step.tools.join());
    if ('none' in step) without.set(capabilityId, step.none);
    else if (same !== undefined)
      without.set(capabilityId, `its step, ${step.tools.join(', ')}, is also that of ${contrasts[same]!.capabilityId}`);
    else if ((questions.length + 1) * FEWEST_ROLLOUTS > run.budget)
      without.set(capabilityId, `identify.experimentRollouts (${run.budget}) is enough for ${questions.length} others`);
    else {
      const held = others.flatMap((other) => toolsOf(steps[other]!)).filter((tool) => !step.tools.includes(tool));
      const tasks = (label: number) => tasksWith(label, run.codes[c]!, run);
      questions.push({
        ...{ capabilityId, tools: step.tools, held: [...new Set(held)].sort() },
        ...{ lacking: tasks(LABEL_CODES.LACKING), shown: tasks(LABEL_CODES.PRESENT) },
      });
    }
  }
  return { questions, without };
}

/** Whether the labels leave it open whether the lack of this candidate has an effect of its own. */
function isOpen(contrast: Contrast, contrasts: readonly Contrast[], rule: LabelledRun['rule']): boolean {
  const { verdict, missed, coverage, partial, capabilityId } = contrast;
  if (partial.decidesNothing !== undefined) return false;
  switch (verdict) {
    case 'not-trainable':
      return false;
    case 'not-enough-data':
      return coverage >= rule.minCoverage && !missed.includes('coverage');
    case 'rejected':
      return missed.includes('effect') && partial.effect !== null && partial.effect.high >= LEAST_EFFECT * rule.minGap;
    case 'kept':
      // It stands for others from which nothing separates it.
      return (
        (partial.effect === null || partial.adjustedPValue > rule.familywiseError) &&
        contrasts.some((other) => other.missed.includes('separation') && other.partial.goesWith === capabilityId)
      );
  }
}

/** For each candidate the number of its group: candidates that go along with each other. */
export function groupsOf(contrasts: readonly Contrast[]): number[] {
  const groups = [...contrasts.keys()];
  contrasts.forEach(({ partial }, c) => {
    const other = contrasts.findIndex(({ capabilityId }) => capabilityId === partial.goesWith);
    if (other < 0) return;
    const [from, to] = [groups[c]!, groups[other]!];
    groups.forEach((group, i) => {
      if (group === from) groups[i] = to;
    });
  });
  return groups;
}

/** Train tasks with episodes of this label, by the share of these among the task's episodes. */
function tasksWith(label: number, codes: Uint8Array, { facts, seed }: Pick<LabelledRun, 'facts' | 'seed'>): number[] {
  const counts = new Map<number, { all: number; labelled: number }>();
  facts.seeds.forEach((task, i) => {
    if (task === null) return;
    const before = counts.get(task) ?? { all: 0, labelled: 0 };
    counts.set(task, { all: before.all + 1, labelled: before.labelled + (codes[i] === label ? 1 : 0) });
  });
  return [...counts]
    .filter(([, { labelled }]) => labelled > 0)
    .map(([task, { all, labelled }]) => ({
      task,
      share: labelled / all,
      place: contentKey('experiment', String(seed), String(task)),
    }))
    .sort((a, b) => b.share - a.share || (a.place < b.place ? -1 : 1))
    .map(({ task }) => task)
    .slice(0, MOST_TASKS);
}

/** Most tasks of each kind. */
const MOST_TASKS = 100;
