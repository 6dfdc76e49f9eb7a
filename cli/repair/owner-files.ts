import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { preparedSpecSchema } from '../../contracts/artifacts/prepared-spec';
import type { ArtifactRef } from '../../contracts/artifacts/artifact-ref';
import { environmentOfRun } from '../../loaders/owner-environment';
import { type ArtifactStore, getJson } from '../../store';

/**
 * Checks the files of a run that are not artifacts: the base model and the owner's environment. Returns a sentence for
 * each problem. No stage makes these files, so a person must restore them. Empty if the spec cannot be read.
 */
export async function ownerFileProblems(store: ArtifactStore, spec: ArtifactRef | null): Promise<string[]> {
  const prepared = spec && (await getJson(store, spec, preparedSpecSchema).catch(() => null));
  if (!prepared) return [];
  const { modelPath, environmentPath, environmentSha256 } = prepared;
  const problems: string[] = [];
  if (!existsSync(join(modelPath, 'config.json')))
    problems.push(
      `The base model ${modelPath} is not on this machine. No run makes it: put it back, or let \`whet up\` make it ` +
        "where the agent's model has a recipe.",
    );
  let sha256: string | null = null;
  try {
    sha256 = environmentOfRun(prepared).sha256(prepared.facts.packages);
  } catch {
    problems.push(`The agent's environment ${environmentPath} is not on this machine. It is yours: put it back.`);
  }
  if (sha256 !== null && sha256 !== environmentSha256)
    problems.push(
      `The agent's environment ${environmentPath} has changed since the run began. It is yours: put the former one ` +
        'back, or start a new run.',
    );
  return problems;
}
