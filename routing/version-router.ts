/** The routers of the registry's versions. */
import type { ArtifactRef } from '../contracts/artifacts/artifact-ref';
import type { RegistryVersion } from '../contracts/artifacts/registry';
import type { Router } from './kinds';
import { type LaterTurnsReader, openLaterTurns } from './later-turns';
import { type ArmChooser, openRouter } from './open-router';

/** Reads a `router.json`. Rejects if it cannot be read. */
export type ReadRouter = (artifact: ArtifactRef) => Promise<Router>;

/** A version that is ready to choose among its adapters and the base model. */
export interface OpenedVersion extends ArmChooser {
  /** Null: its conversations keep their first adapter. */
  laterTurns: LaterTurnsReader | null;
}

/** Opens the router that a version was judged with. Rejects when it cannot be read. */
export async function openVersion(version: RegistryVersion, read: ReadRouter): Promise<OpenedVersion> {
  const router = await read(version.judgedRouter.artifact);
  const served = version.adapters.map(({ capabilityId }) => capabilityId);
  return { ...openRouter(router, served), laterTurns: openLaterTurns(router, served) };
}
