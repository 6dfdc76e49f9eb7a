import type { Report } from '../../contracts/artifacts/report';

/**
 * Whether a run has judged on held-out tasks what is served without an adapter, with nothing that is not served: a
 * verdict about both together says nothing about the adapter. Empty for a run whose night did not want to.
 */
export function triedAlone(report: Pick<Report, 'night' | 'sharpened' | 'mixed' | 'evaluation'>): {
  triedAlone?: boolean;
} {
  const { night, sharpened, mixed, evaluation } = report;
  if (night?.reasons.some(({ kind }) => kind === 'harms' || kind === 'no-longer-helps') !== true) return {};
  const served = new Set((night.adapters ?? []).map(({ sha256 }) => sha256));
  const hasNew = sharpened.some(({ adapter }) => adapter !== null && !served.has(adapter.sha256));
  return { triedAlone: evaluation !== null && !mixed && !hasNew };
}
