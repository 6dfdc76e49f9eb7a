import type { Contrast } from '../../contracts/artifacts/identification';
import type { Spread, StudyCapability } from '../../contracts/artifacts/study';
import { jaccard } from '../statistics/jaccard';
import { mean, sampleDeviation } from '../statistics/mean';

/** Smallest Jaccard index at which capabilities of two identifications count as the same. */
const MIN_AGREEMENT = 0.5;

/** The part of an identification that matching needs. */
export interface StudiedIdentification {
  /** Names of the capabilities by id. */
  names: ReadonlyMap<string, string>;
  contrasts: readonly Pick<Contrast, 'capabilityId' | 'gap' | 'coverage' | 'verdict' | 'kept'>[];
  /** Trajectories in which a capability is labelled LACKING, by capability id. */
  lacking: ReadonlyMap<string, ReadonlySet<number>>;
}

interface Group {
  capability: StudyCapability;
  /** Trajectories that lack it in the identification that named it first. */
  lacking: ReadonlySet<number>;
}

/**
 * Finds the same capability in all identifications, not by name but by the trajectories that lack it. Each capability
 * of an identification is matched with at most one earlier capability, the best agreement first. Below `MIN_AGREEMENT`
 * it counts as a new capability. Two capabilities that no trajectory lacks match if their ids are equal.
 * @returns capabilities, first those that were kept most often, then by gap.
 */
export function matchCapabilities(identifications: readonly StudiedIdentification[]): StudyCapability[] {
  const groups: Group[] = [];
  identifications.forEach((identification, index) => {
    const own = identification.contrasts;
    const pairs = own
      .flatMap((contrast) =>
        groups.map((group) => ({
          contrast,
          group,
          agreement: agreementOf(contrast.capabilityId, identification, group),
        })),
      )
      .filter(({ agreement }) => agreement >= MIN_AGREEMENT)
      .sort((a, b) => b.agreement - a.agreement || (a.contrast.capabilityId < b.contrast.capabilityId ? -1 : 1));
    const taken = new Set<unknown>();
    for (const { contrast, group, agreement } of pairs) {
      if (taken.has(contrast) || taken.has(group)) continue;
      taken.add(contrast).add(group);
      addTo(group, contrast, identification, index, agreement);
    }
    for (const contrast of own.filter((c) => !taken.has(c))) {
      const id = contrast.capabilityId;
      const capability: StudyCapability = {
        id: groups.some((group) => group.capability.id === id) ? `${id}-${index}` : id,
        name: identification.names.get(id) ?? id,
        names: [],
        named: 0,
        kept: 0,
        gap: null,
        coverage: { mean: 0, standardDeviation: null, largestDeviation: 0 },
        points: [],
      };
      const group = { capability, lacking: identification.lacking.get(id) ?? new Set<number>() };
      addTo(group, contrast, identification, index, 1);
      groups.push(group);
    }
  });
  const found = groups.map(({ capability }) => ({
    ...capability,
    gap: spread(capability.points.flatMap(({ gap }) => gap ?? [])),
    coverage: spread(capability.points.map(({ coverage }) => coverage)) as Spread,
  }));
  return found.sort((a, b) => b.kept - a.kept || (b.gap?.mean ?? -1) - (a.gap?.mean ?? -1) || (a.id < b.id ? -1 : 1));
}

/** Mean Jaccard index over all pairs of sets; null for fewer than two. Two empty sets agree. */
export function pairwiseAgreement(sets: readonly ReadonlySet<string>[]): number | null {
  const pairs = sets.flatMap((a, i) => sets.slice(i + 1).map((b) => [a, b] as const));
  if (pairs.length === 0) return null;
  const agreement = ([a, b]: (typeof pairs)[number]) => (a.size + b.size === 0 ? 1 : jaccard(a, b));
  return pairs.reduce((sum, pair) => sum + agreement(pair), 0) / pairs.length;
}

function agreementOf(id: string, { lacking }: StudiedIdentification, group: Group): number {
  const own = lacking.get(id) ?? new Set<number>();
  return own.size + group.lacking.size === 0 ? (id === group.capability.id ? 1 : 0) : jaccard(own, group.lacking);
}

function addTo(
  { capability }: Group,
  contrast: StudiedIdentification['contrasts'][number],
  { names }: StudiedIdentification,
  identification: number,
  agreement: number,
): void {
  const { capabilityId, gap, coverage, verdict, kept } = contrast;
  const name = names.get(capabilityId) ?? capabilityId;
  if (!capability.names.includes(name)) capability.names.push(name);
  capability.named++;
  if (kept) capability.kept++;
  capability.points.push({ identification, capabilityId, gap, coverage, verdict, agreement });
}

function spread(values: readonly number[]): Spread | null {
  if (values.length === 0) return null;
  const centre = mean(values);
  return {
    mean: centre,
    standardDeviation: sampleDeviation(values),
    largestDeviation: Math.max(...values.map((value) => Math.abs(value - centre))),
  };
}
