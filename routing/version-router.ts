/** The routers of the registry's versions. The gateway and the evaluation of a next version read them here. */
import type { ArtifactRef } from '../contracts/artifacts/artifact-ref';
import type { RegistryVersion } from '../contracts/artifacts/registry';
import type { Router } from './kinds';
import { type LaterTurnsReader, openLaterTurns } from './later-turns';
import { UNCALIBRATED } from './menu-answer';
import { type ArmChooser, openRouter } from './open-router';

/** Reads a `router.json`. Rejects when it cannot be read. */
export type ReadRouter = (artifact: ArtifactRef) => Promise<Router>;

/** The paper's router over a version's adapters. */
function logitsOf({ adapters }: Pick<RegistryVersion, 'adapters'>): Router {
  const capabilities = adapters.map(({ capabilityId, summary }) => ({ id: capabilityId, summary }));
  return { kind: 'logits', leftOut: [], capabilities, ...UNCALIBRATED };
}

/** The router that a version was judged with, and is served with; the paper's where it names none. */
export const routerOfVersion = async (version: RegistryVersion, read: ReadRouter): Promise<Router> =>
  version.judgedRouter === undefined ? logitsOf(version) : read(version.judgedRouter.artifact);

/** A version that is ready to choose among its adapters and the base model. */
export interface OpenedVersion extends ArmChooser {
  /** Null: its conversations keep the adapter that they began with. */
  laterTurns: LaterTurnsReader | null;
}

/** Opens the router of a version. Rejects when it cannot be read. */
export async function openVersion(version: RegistryVersion, read: ReadRouter): Promise<OpenedVersion> {
  const router = await routerOfVersion(version, read);
  const served = version.adapters.map(({ capabilityId }) => capabilityId);
  return { ...openRouter(router, served), laterTurns: openLaterTurns(router, served) };
}
