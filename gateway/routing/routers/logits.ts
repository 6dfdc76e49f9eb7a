import type { RoutingRecord } from '../../../contracts/artifacts/evaluation';
import type { RouterSettings } from '../../../contracts/config/gateway-config';
import { NONE_LABEL } from '../../../contracts/names';
import { calibratedChoice, UNCALIBRATED } from '../../../contracts/routing/routing-decision';
import type { ReplicaSet } from '../../upstream/replica-set';
import { askBaseModel } from '../ask-base-model';
import type { Router, RoutingAnswer, RoutingQuestion } from '../router';

/** Capabilities of a version in the form of the router's menu. */
export const menuOf = ({ version }: RoutingQuestion): { id: string; summary: string }[] =>
  version.adapters.map(({ capabilityId, summary }) => ({ id: capabilityId, summary }));

/** Reads a decision out of label probabilities: abstains where the version's threshold or the covered mass says so. */
export function readLabels(
  record: RoutingRecord,
  { version }: RoutingQuestion,
  { minCoveredMass }: RouterSettings,
): RoutingAnswer {
  const { coveredMass } = record;
  const { capabilityId, probability, abstained } = calibratedChoice(record, version.router ?? UNCALIBRATED);
  if (coveredMass < minCoveredMass) return { capabilityId: NONE_LABEL, reason: 'unreliable', probability, coveredMass };
  return { capabilityId, reason: abstained ? 'abstained' : 'routed', probability, coveredMass };
}

/**
 * The paper's router: the base model is shown the task and one line per capability, and answers with one label token.
 */
export function logitsRouter(settings: RouterSettings, replicas: ReplicaSet, baseModel: string): Router {
  return {
    async route(question, signal) {
      return readLabels(
        await askBaseModel(replicas, baseModel, menuOf(question), question, signal),
        question,
        settings,
      );
    },
  };
}
