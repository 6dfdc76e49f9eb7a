/** From a registry version to the router's menu, and from label probabilities to a router's answer. */
import type { RoutingRecord } from '../../contracts/artifacts/evaluation';
import type { RegistryVersion } from '../../contracts/artifacts/registry';
import { NONE_LABEL } from '../../contracts/names';
import { calibratedChoice, UNCALIBRATED } from '../../contracts/routing/routing-decision';
import type { RoutingAnswer } from './router';

/** A version's capabilities, as the router's menu takes them. */
export const capabilitiesOf = ({ adapters }: RegistryVersion): { id: string; summary: string }[] =>
  adapters.map(({ capabilityId, summary }) => ({ id: capabilityId, summary }));

/**
 * The answer that label probabilities lead to. It is `none` where they cover less than `minCoveredMass`, and where the
 * best one is below the version's threshold.
 */
export function chooseByLabels(record: RoutingRecord, version: RegistryVersion, minCoveredMass: number): RoutingAnswer {
  const { coveredMass } = record;
  const { capabilityId, probability, abstained } = calibratedChoice(record, version.router ?? UNCALIBRATED);
  if (coveredMass !== null && coveredMass < minCoveredMass)
    return { capabilityId: NONE_LABEL, reason: 'unreliable', probability, coveredMass };
  return { capabilityId, reason: abstained ? 'abstained' : 'routed', probability, coveredMass };
}
