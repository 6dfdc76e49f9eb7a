import type { EvidenceQuote, Identification } from '../../../contracts/artifacts/identification';
import { decimal, plural, sentenceList } from '../../html/format';
import { markup, type Markup } from '../../html/markup';
import { dataTable } from '../../html/table';

/** Name of a candidate; its id when the identification does not have it. */
export const candidateName = ({ candidates }: Identification, id: string) =>
  candidates.find((c) => c.id === id)?.name ?? id;

/**
 * Names merged into other candidates, and capabilities of earlier runs that this run did not examine. Null without
 * either.
 */
export function mergeBlock(identification: Identification): Markup | null {
  const { merges, gone } = identification;
  if (merges.length + gone.length === 0) return null;
  return markup`${
    merges.length > 0 &&
    markup`<details id="merges">
      <summary>${plural(merges.length, 'name was', 'names were')} merged into another candidate</summary>
      ${dataTable({
        head: ['Name', 'is', 'Why'],
        rows: merges.map(({ name, into, reason }) => [name, candidateName(identification, into), reason]),
      })}
    </details>`
  }
  ${gone.length > 0 && markup`<p>Lacking in the last run, and not looked at in this one: ${sentenceList(gone)}.</p>`}`;
}

/** For each kept capability, the steps that most clearly show that it is lacking. Null without evidence. */
export function evidenceBlock(identification: Identification): Markup | null {
  const shown = identification.kept.flatMap((id) => {
    const own = identification.evidence.filter(({ capabilityId }) => capabilityId === id);
    return own.length === 0 ? [] : [{ id, own }];
  });
  if (shown.length === 0) return null;
  const agreed = (lacking: number, runs: number) => (runs > 1 ? ` (${lacking} of ${runs} runs)` : '');
  return markup`<details id="evidence">
    <summary>Where it shows: the decisive step of failed trajectories</summary>
    ${shown.map(
      ({ id, own }) =>
        markup`<h4>${candidateName(identification, id)}</h4>
          ${own.flatMap((e) =>
            e.passage ? [passage(e.trajectoryId, e.passage, `${e.reason}${agreed(e.runsLacking, e.runs)}`)] : [],
          )}
          ${
            own.some((e) => e.passage === undefined) &&
            dataTable({
              head: ['Task', 'Step', 'What the agent did', 'What the analyst says'],
              rows: own
                .filter((e) => e.passage === undefined)
                .map((e) => [
                  markup`${String(e.task)}${e.trial > 0 && markup`, trial ${e.trial}`}`,
                  String(e.step),
                  markup`<code>${e.quote}</code>`,
                  `${e.reason}${agreed(e.runsLacking, e.runs)}`,
                ]),
            })
          }`,
    )}
  </details>`;
}

/** A part of a real conversation, with the step that shows it marked. */
const passage = (id: string, messages: NonNullable<EvidenceQuote['passage']>, says: string): Markup =>
  markup`<div class="passage">
    <ol>
      ${messages.map(({ role, text, isStep }) => {
        const words = markup`<span class="muted">${role}</span> ${text}`;
        return markup`<li>${isStep === true ? markup`<mark>${words}</mark>` : words}</li>`;
      })}
    </ol>
    <p>${says} <span class="muted">Conversation ${id.slice(0, 12)}.</span></p>
  </div>`;

const ARM_NAMES = {
  contrast: 'contrast (the method)',
  'failures-only': 'failures only: coverage, no contrast',
  random: 'random: as many, drawn from the candidates',
  'single-run': 'single run: the first labelling run alone',
} as const;

/** The capabilities that each arm chooses from the same labels. Null if the run did not ask for ablations. */
export function ablationBlock(identification: Identification): Markup | null {
  const { ablations } = identification;
  if (!ablations) return null;
  const known = ablations.some(({ planted }) => planted);
  return markup`<h3 id="ablations">Other ways to choose</h3>
    <p>The same labels, chosen from in other ways. Only the choice that this run used was trained.</p>
    ${dataTable({
      head: ['Arm', 'Chosen', ...(known ? ['Planted found', 'invented', 'decoys'] : [])],
      rows: ablations.map(({ arm, kept, planted }) => [
        `${ARM_NAMES[arm]}${arm === identification.arm ? ' – used' : ''}`,
        sentenceList(kept.map((id) => candidateName(identification, id))),
        ...(known
          ? [planted?.found, planted?.invented, planted?.decoysKept].map((list) => String(list?.length ?? '–'))
          : []),
      ]),
    })}`;
}

/** Kept capabilities against planted deficits. Null if nothing was planted. */
export function plantedBlock(identification: Identification): Markup | null {
  const { planted } = identification;
  if (!planted) return null;
  const name = (id: string) => candidateName(identification, id);
  const item = (look: 'yes' | 'no', sign: string, text: string) =>
    markup`<li><span class="sign ${look}" aria-hidden="true">${sign}</span>${text}</li>`;
  const total = planted.found.length + planted.missed.length;
  return markup`<h3 id="planted">Against what was planted</h3>
    <p>
      This agent's deficits were planted, so the truth is known. Capabilities are matched to planted deficits by how
      well the labels agree with the environment's own diagnostics (Jaccard index over trajectories), not by name. Found
      ${planted.found.length} of ${total}; missed ${planted.missed.length}; invented ${planted.invented.length}; decoys
      kept ${planted.decoysKept.length}.
    </p>
    <ul class="tags">
      ${planted.found.map((f) =>
        item('yes', '✓', `found: ${f.planted}, as “${name(f.capabilityId)}” (agreement ${decimal(f.jaccard)})`),
      )}
      ${planted.missed.map((p) => item('no', '✗', `missed: ${p}`))}
      ${planted.invented.map((id) => item('no', '!', `invented: “${name(id)}” matches nothing that was planted`))}
      ${planted.decoysKept.map((d) => item('no', '!', `decoy kept: ${d}`))}
    </ul>`;
}
