import type { CompetitionRouter } from '../artifacts/router';
import { MIXED } from '../names';

/** Capabilities, and `mixed`, to which a router may give a conversation, at its opening or at a later turn; sorted. */
export function neededAdapters(router: CompetitionRouter): string[] {
  if (router.kind === 'base') return [];
  if (router.kind === 'mixed') return [MIXED];
  const needs = [...openingNeeds(router), ...(router.laterTurns?.needs.map(({ capabilityId }) => capabilityId) ?? [])];
  const own = needs.filter((id) => !router.leftOut.includes(id));
  return [...new Set([...own, ...(router.severalNeeds ? [MIXED] : [])])].sort();
}

function openingNeeds(router: Exclude<CompetitionRouter, { kind: 'base' | 'mixed' }>): string[] {
  switch (router.kind) {
    case 'labels':
      return router.needs.map(({ capabilityId }) => capabilityId);
    case 'outcomes-mixed':
      return router.arms.map(({ capabilityId }) => capabilityId);
    case 'logits':
      return router.capabilities.map(({ id }) => id);
  }
}
