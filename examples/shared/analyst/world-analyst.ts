import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { type Judgement, openRuleBook, type RuleBook } from './answers';
import { openLabelRules } from './label-rules';
import { parseTurns } from './transcript';

/** Share of the labels that are replaced by another one. */
const NOISE = 0.05;
const LABELS = ['NA', 'PRESENT', 'LACKING'] as const;

/**
 * Opens the recorded analyst of a world (examples/worlds/README.md). It holds a Python process until it is closed.
 * @param directory the world's folder `analyst`.
 * @throws Error with its path when capabilities.json is missing or is not a list of capabilities.
 */
export function openWorldAnalyst(directory: string): RuleBook {
  const book = openRuleBook({
    model: 'demo-analyst-recorded',
    name: `demo analyst (recorded answers${author(directory)}, labels by rules with 5 % noise)`,
    directory,
    judge: (id, episode) => rules.judge(id, parseTurns(episode)),
    label: withNoise,
    close: () => rules.close(),
  });
  // Last: this process does not end as long as that of the rules lives.
  const rules = openLabelRules(join(directory, 'labels.py'));
  return { ...book, ready: rules.ready };
}

/** Of provenance.json (examples/worlds/README.md). */
const provenanceSchema = z.object({ model: z.string().trim().min(1), prompts: z.record(z.string(), z.string()) });

/** ` of a large language model`, as provenance.json says; empty where it names no prompt that was answered. */
function author(directory: string): string {
  let document: unknown;
  try {
    document = JSON.parse(readFileSync(join(directory, 'provenance.json'), 'utf8'));
  } catch {
    return '';
  }
  const { data } = provenanceSchema.safeParse(document);
  if (data === undefined || Object.keys(data.prompts).length === 0) return '';
  // A kind of model takes an article, a name does not.
  return ` of ${/^[a-z]/.test(data.model) ? 'a ' : ''}${data.model}`;
}

/** The judgement, or in 5 % of the pairs of capability and episode another label. The same pair gets the same. */
function withNoise(id: string, episode: string, judgement: Judgement): Judgement {
  const digest = createHash('sha256').update(`${id}\n${episode}`).digest();
  if (digest.readUInt32BE(0) / 2 ** 32 >= NOISE) return judgement;
  const others = LABELS.filter((label) => label !== judgement.label);
  const label = others[digest.readUInt8(4) % others.length] as Judgement['label'];
  return { label, step: label === 'NA' ? null : judgement.step, reason: 'So it seems from the episode as a whole.' };
}
