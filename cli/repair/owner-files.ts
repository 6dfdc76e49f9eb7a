import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { preparedSpecSchema } from '../../contracts/artifacts/prepared-spec';
import type { ArtifactRef } from '../../contracts/artifacts/artifact-ref';
import { environmentOfRun, type OwnerEnvironment } from '../../loaders/owner-environment';
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
  if (modelPath !== null && !existsSync(join(modelPath, 'config.json')))
    problems.push(
      `The base model ${modelPath} is not on this machine. No run makes it: put it back, or let \`whet up\` make it ` +
        "where the agent's model has a recipe.",
    );
  let environment: OwnerEnvironment | null = null;
  try {
    environment = environmentOfRun(prepared);
  } catch {
    problems.push(`The agent's environment ${environmentPath} is not on this machine. It is yours: put it back.`);
  }
  if (environment !== null && environment.sha256(prepared.facts.packages) !== environmentSha256)
    problems.push(
      `Changed since the run began: ${environment.decidedBy}. This is yours: put back what was there, or start a new run.`,
    );
  return problems;
}
