/** How a version of the registry is served. The gateway and the evaluation of a next version read it here. */
import type { ArtifactRef } from '../artifacts/artifact-ref';
import type { RegistryVersion } from '../artifacts/registry';
import type { CompetitionRouter } from '../artifacts/router';
import { type ArmChooser, openRouter } from './choose-arm';
import { type LaterTurnsReader, openLaterTurns } from './later-turns';
import { UNCALIBRATED } from './routing-decision';

/** Reads `router.json`. Rejects when it cannot be read. */
export type ReadRouter = (artifact: ArtifactRef) => Promise<CompetitionRouter>;

/**
 * The router that a version was judged with, and is served with. Versions from before routers competed have the router
 * `logits`.
 */
export async function routerOfVersion(version: RegistryVersion, read: ReadRouter): Promise<CompetitionRouter> {
  if (version.judgedRouter !== undefined) return read(version.judgedRouter.artifact);
  const capabilities = version.adapters.map(({ capabilityId, summary }) => ({ id: capabilityId, summary }));
  return { kind: 'logits', leftOut: [], capabilities, ...(version.router ?? UNCALIBRATED) };
}

/** A version that is ready to choose among its adapters and the base model. */
export interface OpenedVersion extends ArmChooser {
  /** Null: its conversations stay where they began. */
  laterTurns: LaterTurnsReader | null;
}

/** Reads what a version is routed by. */
export async function openVersion(version: RegistryVersion, read: ReadRouter): Promise<OpenedVersion> {
  const router = await routerOfVersion(version, read);
  const served = version.adapters.map(({ capabilityId }) => capabilityId);
  return { ...openRouter(router, served), laterTurns: openLaterTurns(router, served) };
}
