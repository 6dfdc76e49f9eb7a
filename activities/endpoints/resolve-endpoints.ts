import { resolve } from 'node:path';
import type { AgentSpec } from '../../contracts/config/agent-spec';
import { isPlayable } from '../../contracts/config/environment-kinds';
import { failure } from '../../contracts/typed-failure';
import { checkKeyEndpoint } from './key-endpoints';

/** Endpoints from the worker's environment variables; null if a variable is not set. */
export interface KnownEndpoints {
  /** The embedded policy server; ends in /v1. */
  modelUrl: string | null;
  /** Directory of the base model that model.recipe made. */
  modelPath: string | null;
  /** WHET_MODEL_API_KEY. */
  modelApiKey: string | null;
  /** WHET_KEY_ENDPOINTS: servers that may get the worker's keys although only an agent.yaml names them. */
  keyEndpoints: readonly string[];
  analyst: {
    /** The embedded demo analyst; ends in /v1. */
    demoUrl: string | null;
    /** true: it is asked, whatever an agent.yaml or a variable names. Default false. */
    isDemoOnly?: boolean;
    /** WHET_ANALYST_MODEL. */
    model: string | null;
    /** OPENAI_API_KEY. */
    apiKey: string | null;
    /** OPENAI_BASE_URL. */
    baseUrl: string | null;
  };
}

/** The model and analyst endpoints of a run. */
export interface ResolvedEndpoints {
  /** Empty: nothing is played, so no model answers. */
  modelBaseUrl: string;
  /** Absolute. Null: nothing says where the base model is (`requireModelPath`). */
  modelPath: string | null;
  analystBaseUrl: string;
  /** Null: the first model of the endpoint, which is only allowed for the demo analyst. */
  analystModel: string | null;
}

const OPENAI = 'https://api.openai.com/v1';

/** Endpoints that may get OPENAI_API_KEY. */
export const analystKeyEndpoints = ({ keyEndpoints, analyst }: KnownEndpoints): string[] => [
  analyst.baseUrl ?? OPENAI,
  ...keyEndpoints,
];

/** Endpoints that may get WHET_MODEL_API_KEY. */
export const modelKeyEndpoints = ({ keyEndpoints, modelUrl }: KnownEndpoints): string[] => [
  ...(modelUrl === null ? [] : [modelUrl]),
  ...keyEndpoints,
];

/**
 * Chooses the endpoints of a run: those in agent.yaml, else those in environment variables, else those of `whet up`.
 * Where only the demo analyst may be asked, nothing else names one.
 * @param folder directory of agent.yaml; its relative paths start there.
 * @throws Spec.Invalid, which names the field or variable to set, or the endpoint that may not get the worker's key.
 */
export function resolveEndpoints(
  { model, analyst, environment }: AgentSpec,
  known: KnownEndpoints,
  folder: string,
): ResolvedEndpoints {
  const plays = isPlayable(environment);
  const modelBaseUrl = plays ? (model.baseUrl ?? known.modelUrl) : '';
  if (modelBaseUrl === null) {
    throw failure(
      'Spec.Invalid',
      'model.baseUrl is not set and this worker knows no policy server (WHET_MODEL_URL). Set the field, or ' +
        'start everything with `whet up`.',
    );
  }
  if (plays && known.modelApiKey !== null && model.baseUrl !== undefined) {
    const asked = { field: 'model.baseUrl', url: model.baseUrl, variable: 'WHET_MODEL_API_KEY' };
    checkKeyEndpoint(asked, modelKeyEndpoints(known));
  }
  const modelPath = model.path === undefined ? known.modelPath : resolve(folder, model.path);
  const configured = known.analyst.isDemoOnly === true ? null : configuredAnalyst(analyst, known);
  const analystBaseUrl = configured ?? known.analyst.demoUrl;
  if (analystBaseUrl === null) {
    throw failure(
      'Spec.Invalid',
      'There is no analyst: analyst.baseUrl, OPENAI_API_KEY and OPENAI_BASE_URL are not set and no demo ' +
        'analyst is running. Set one of them; `whet up` starts a demo analyst where agent.yaml comes with one.',
    );
  }
  if (known.analyst.apiKey !== null && configured !== null && analyst.baseUrl !== undefined) {
    const asked = { field: 'analyst.baseUrl', url: analyst.baseUrl, variable: 'OPENAI_API_KEY' };
    checkKeyEndpoint(asked, analystKeyEndpoints(known));
  }
  const analystModel = analyst.model ?? known.analyst.model;
  if (analystModel === null && configured !== null) {
    throw failure(
      'Spec.Invalid',
      `analyst.model is not set, so it is open which model of ${analystBaseUrl} to ask. Set the field or ` +
        'WHET_ANALYST_MODEL.',
    );
  }
  // The demo analyst is asked for its own model, not for a model that was set for another endpoint.
  return {
    modelBaseUrl: trimmed(modelBaseUrl),
    modelPath,
    analystBaseUrl: trimmed(analystBaseUrl),
    analystModel: configured === null ? null : analystModel,
  };
}

/** A key alone means OpenAI's endpoint. A base URL alone means the user's own server, without a key. */
const configuredAnalyst = ({ baseUrl }: AgentSpec['analyst'], { analyst }: KnownEndpoints): string | null =>
  baseUrl ?? analyst.baseUrl ?? (analyst.apiKey === null ? null : OPENAI);

/** The directory of the base model, for a run that trains. @throws Spec.Invalid if nothing says where it is. */
export function requireModelPath({ model }: AgentSpec, { modelPath }: ResolvedEndpoints): string {
  if (modelPath !== null) return modelPath;
  const remedy =
    model.recipe === undefined
      ? 'Set it to the directory of the base model'
      : 'Start everything with `whet up`, which runs model.recipe';
  throw failure('Spec.Invalid', `model.path is not set, so the trainer has no base model. ${remedy}.`);
}

function trimmed(url: string): string {
  return url.replace(/\/+$/, '');
}
