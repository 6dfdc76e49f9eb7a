import type { PreparedSpec } from '../../contracts/artifacts/prepared-spec';
import { isDemoAnalyst } from './probe-analyst';

/**
 * Finds the analyst of a run. If the spec or a variable sets the analyst's address, that address is used. The demo
 * analyst of `whet up` is found where it is now (`demoUrl`, if the worker knows it), because its port may differ after
 * a restart.
 */
export function runAnalyst(
  { spec, analyst }: Pick<PreparedSpec, 'spec' | 'analyst'>,
  demoUrl: string | null,
): PreparedSpec['analyst'] {
  const isOurs = spec.analyst.baseUrl === undefined && isDemoAnalyst(analyst.displayName);
  return isOurs && demoUrl !== null ? { ...analyst, baseUrl: demoUrl.replace(/\/+$/, '') } : analyst;
}
