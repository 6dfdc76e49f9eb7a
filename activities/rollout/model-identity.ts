import type { ServedModel } from '../../contracts/artifacts/prepared-spec';
import type { RunModel } from '../endpoints/run-model';
import { ModelFault } from './model-errors';

/** A model or adapter in a server's list. */
export interface ModelCard extends ServedModel {
  /** Served name. */
  id: string;
}

/** The form of Whetstone's `system_fingerprint`: a prefix and the first digits of the hash. */
const FINGERPRINT = /^weights-([0-9a-f]{16})$/;

/**
 * Compares a server's list of models with the model with which the run began.
 * @throws ModelFault `refused` if the name is not served, `changed` if another model has it.
 */
export function requireSameModel(model: RunModel, cards: readonly ModelCard[]): void {
  const card = cards.find(({ id }) => id === model.name);
  if (card === undefined) throw notServed(model, cards);
  const { weightsSha256, root, maxModelLength } = card;
  if (weightsSha256 !== null && weightsSha256 !== model.sha256)
    throw changed(model, `weights ${short(weightsSha256)}${root === null ? '' : ` (${root})`}`);
  const before = model.served;
  if (before.weightsSha256 !== null && weightsSha256 === null)
    throw changed(model, 'a model whose server does not say which weights it has loaded');
  if (weightsSha256 !== null) return;
  // Servers other than Whetstone's policy server do not report their weights. The facts that they do report must be the
  // same.
  if (root !== before.root) throw changed(model, `a model loaded from ${root ?? 'a place that is not said'}`);
  if (maxModelLength !== before.maxModelLength)
    throw changed(model, `a model with a context of ${maxModelLength ?? 'unknown'} tokens`);
}

/** The fault if a server does not serve the name in agent.yaml. */
export function notServed(
  { name, baseUrl }: Pick<RunModel, 'name' | 'baseUrl'>,
  cards: readonly ModelCard[],
): ModelFault {
  const served = cards.map(({ id }) => id).join(', ') || 'nothing';
  return new ModelFault(
    'refused',
    `The model server at ${baseUrl} does not serve ${name} (model.name); it serves ${served}.`,
  );
}

/**
 * Whether an answer proves that the run's model gave it; false if the server does not say.
 * @throws ModelFault `changed` if the answer says that other weights gave it.
 */
export function requireSameFingerprint(model: RunModel, fingerprint: string | null): boolean {
  const weights = FINGERPRINT.exec(fingerprint ?? '')?.[1];
  if (weights === undefined) return false;
  if (!model.sha256.startsWith(weights)) throw changed(model, `weights ${short(weights)}`);
  return true;
}

function changed({ baseUrl, name, path, sha256, served }: RunModel, now: string): ModelFault {
  const context = served.weightsSha256 === null && served.maxModelLength !== null;
  const place = served.weightsSha256 === null && served.root !== null ? served.root : path;
  const facts = [
    ...(place === null ? [] : [place]),
    ...(context ? [`context of ${served.maxModelLength} tokens`] : []),
  ];
  const weights = path === null && served.weightsSha256 === null ? 'weights unknown' : `weights ${short(sha256)}`;
  const began = `${weights}${facts.length === 0 ? '' : ` (${facts.join(', ')})`}`;
  return new ModelFault(
    'changed',
    `The run began with the model ${name}, ${began}. Now ${baseUrl} serves under this name ${now}. ` +
      'Nothing that the other model answers is counted.',
  );
}

const short = (sha256: string): string => `${sha256.slice(0, 12)}…`;
