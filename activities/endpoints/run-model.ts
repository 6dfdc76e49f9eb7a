import type { PreparedSpec, ServedModel } from '../../contracts/artifacts/prepared-spec';
import type { KnownEndpoints } from './resolve-endpoints';

/** The base model with which a run began, and its current address. */
export interface RunModel {
  /** Ends in /v1. */
  baseUrl: string;
  /**
   * The source of the address. `agent.yaml`: the user's address when the run began. `worker`: the policy server that
   * this worker knows now. `frozen`: the policy server when the run began, because this worker knows none.
   */
  addressFrom: 'agent.yaml' | 'worker' | 'frozen';
  /** Served name. */
  name: string;
  /** Directory of its weights; null: the run trains nothing, and did not read them. */
  path: string | null;
  /** `baseModelSha256` of the prepared spec. */
  sha256: string;
  /** The server's statements about it when the run began. */
  served: ServedModel;
  /** `model.timeoutSeconds` of agent.yaml. */
  timeoutSeconds?: number | undefined;
}

/**
 * Finds the model of a run. An address in agent.yaml stays fixed. Without one, the run uses the policy server of `whet
 * up`. Its port may change at a restart, so the current address is used, and the model must prove that it is the same.
 */
export function runModel(prepared: PreparedSpec, known: Pick<KnownEndpoints, 'modelUrl'>): RunModel {
  const { model } = prepared.spec;
  const addressFrom = model.baseUrl !== undefined ? 'agent.yaml' : known.modelUrl !== null ? 'worker' : 'frozen';
  return {
    baseUrl: addressFrom === 'worker' ? known.modelUrl!.replace(/\/+$/, '') : prepared.modelBaseUrl,
    addressFrom,
    name: model.name,
    path: prepared.modelPath,
    sha256: prepared.baseModelSha256,
    served: prepared.servedModel,
    timeoutSeconds: model.timeoutSeconds,
  };
}

/** The remedy if no server answers at the address. */
export function addressRemedy({ addressFrom }: Pick<RunModel, 'addressFrom'>): string {
  switch (addressFrom) {
    case 'agent.yaml':
      return (
        'The address is model.baseUrl of agent.yaml as it was when the run began. Start the server there, or correct ' +
        'the field, then `whet retry RUN --spec AGENT_YAML`.'
      );
    case 'worker':
      return 'It is the policy server of `whet up`: `whet up` starts it, and its log says why it is not there.';
    case 'frozen':
      return (
        'The address is that of the policy server when the run began, and this worker knows no other ' +
        '(WHET_MODEL_URL). Start everything with `whet up AGENT_YAML`: the run then finds the new address by itself.'
      );
  }
}
