import { existsSync } from 'node:fs';
import { dirname, isAbsolute, join, resolve } from 'node:path';
import type { Agent } from './agent';
import type { Settings } from './settings';

/** Where runs happen: at a Temporal server of the owner's own, workers may be on other machines. */
type Place = Pick<Settings, 'temporalAddress'>;

/** The target of model.path if there is no model; null if there is one, or none is required. */
function folderWithoutModel({ path, spec }: Agent): string | null {
  if (spec.model.path === undefined) return null;
  const folder = resolve(dirname(path), spec.model.path);
  return existsSync(join(folder, 'config.json')) ? null : folder;
}

/** Whether the model may exist only on the machines of worker and trainers: then its path is absolute. */
const isElsewhere = ({ spec }: Agent, folder: string, { temporalAddress }: Place): boolean =>
  isAbsolute(spec.model.path ?? '') &&
  !existsSync(folder) &&
  (temporalAddress !== null || spec.training.backend === 'kubernetes');

/** Says that model.path leads to no model on this machine, where a run would need it; null: it does not. */
export function missingModel(agent: Agent, place: Place): string | null {
  const folder = folderWithoutModel(agent);
  if (folder === null || isElsewhere(agent, folder, place)) return null;
  const what = existsSync(folder) ? 'has no config.json' : 'does not exist';
  return (
    `${agent.path}: model.path: ${folder} ${what}, so a run would end in its first check. Name the directory of a ` +
    'model that was saved with save_pretrained, or leave the field out where model.recipe makes it. If it is only on ' +
    'the machines of the workers, set TEMPORAL_ADDRESS to their server. `whet run --until identify` reads no weights.'
  );
}

/** A warning if it is open whether a run finds a model; else null. */
export function unsureModel(agent: Agent, place: Place): string | null {
  const { path, spec } = agent;
  const { baseUrl, path: written } = spec.model;
  // Without a baseUrl, `whet up` serves the model of the recipe, and tells the worker its folder.
  if (written === undefined)
    return baseUrl === undefined
      ? null
      : `${path}: model.path is not set. A run ends in its first check without the directory of the base model, ` +
          'unless the worker has WHET_MODEL_PATH.';
  const folder = folderWithoutModel(agent);
  if (folder === null || !isElsewhere(agent, folder, place)) return null;
  return (
    `${path}: model.path: ${folder} is not on this machine. Runs begin only where worker and trainers find a model ` +
    'there.'
  );
}
