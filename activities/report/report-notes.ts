import type { Evaluation } from '../../contracts/artifacts/evaluation';
import type { PreparedSpec } from '../../contracts/artifacts/prepared-spec';
import { sentenceList } from '../html/format';

/** First words of the note that generated code ran without a jail. The page shows that note as an alarm. */
export const UNSAFE_NOTE = 'Unsafe sandbox:';

/**
 * Caveats for the numbers of a report, the most serious first.
 * @param damagedLines number of lines of the rollouts' work files that were set aside.
 */
export function reportNotes(
  { spec, facts, analyst, sandbox, servedModel, modelPath }: PreparedSpec,
  evaluation: Evaluation | null,
  damagedLines: number,
): string[] {
  const notes: string[] = [];
  if (sandbox.mode === 'unsafe') {
    notes.push(
      `${UNSAFE_NOTE} code written by the analyst ran without a jail, with the rights of the worker's user. ` +
        asSentence(sandbox.detail),
    );
  }
  if (spec.groundTruth) {
    const { planted, decoys } = spec.groundTruth;
    const also = decoys.length === 0 ? '' : `, and as decoys that must not be found: ${sentenceList(decoys)}`;
    notes.push(
      `The deficits of this agent were planted on purpose to test Whetstone: ${sentenceList(planted)}${also}. ` +
        'They are cleaner than the weaknesses of a real agent, so these figures show that the loop works, ' +
        'not what it gains elsewhere.',
    );
  }
  if (/rule-based/i.test(analyst.displayName)) {
    notes.push(
      `The analyst was the ${analyst.displayName}: a program written for this agent, not a language model. ` +
        'It labels from the trajectories it is shown, but its names and environments were written by hand.',
    );
  }
  if (/^demo analyst \(recorded/.test(analyst.displayName)) {
    // Its name says who wrote the answers only where provenance.json names a model and its prompts.
    const hasModel = /recorded answers of /.test(analyst.displayName);
    notes.push(
      `The analyst was the ${analyst.displayName}. Its answers were ` +
        `${hasModel ? 'written once by a large language model' : 'prepared before the run, by a person or a model,'} ` +
        'and are played back; what a label says follows from the trajectory, by rules written for this agent.',
    );
  }
  if (facts.playable && servedModel.weightsSha256 === null) {
    notes.push(
      (modelPath === null
        ? 'Not known: which weights the model server used, so that the hash given here is of what it says. '
        : 'Not verified: that the model server used the weights whose hash is given here. It does not say what it ' +
          'has loaded. ') +
        'Only the name, the place and the context length that it gives were compared, all through the run.',
    );
  }
  if (damagedLines > 0)
    notes.push(
      `Damaged lines of work files were set aside (${damagedLines}), ` +
        'and their contents were made again. The figures are not affected, but the disk of the store may be failing.',
    );
  return [...notes, ...(evaluation?.caveats ?? [])];
}

const asSentence = (text: string): string =>
  text === '' ? '' : `${text[0]?.toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? '' : '.'}`;
