import { resolve } from 'node:path';
import type { AgentSpec } from '../../contracts/config/agent-spec';
import { failure } from '../../contracts/typed-failure';

/** What the worker was told about the parts around it; null where it was told nothing. */
export interface KnownEndpoints {
  /** The embedded policy server; ends in /v1. */
  modelUrl: string | null;
  /** Directory of the base model that a recipe made. */
  modelPath: string | null;
  analyst: {
    /** The embedded demo analyst; ends in /v1. */
    demoUrl: string | null;
    /** WHET_ANALYST_MODEL. */
    model: string | null;
    /** OPENAI_API_KEY. */
    apiKey: string | null;
    /** OPENAI_BASE_URL. */
    baseUrl: string | null;
  };
}

/** Where a run's model and analyst are. */
export interface ResolvedEndpoints {
  modelBaseUrl: string;
  /** Absolute. */
  modelPath: string;
  analystBaseUrl: string;
  /** Null: whatever model the endpoint offers first. Only the demo analyst may leave it open. */
  analystModel: string | null;
}

const OPENAI = 'https://api.openai.com/v1';

/**
 * Spec before environment before what `whet up` started.
 * @param folder directory of agent.yaml, where its relative paths begin.
 * @throws Spec.Invalid naming the field or variable to set.
 */
export function resolveEndpoints(
  { model, analyst }: AgentSpec,
  known: KnownEndpoints,
  folder: string,
): ResolvedEndpoints {
  const modelBaseUrl = model.baseUrl ?? known.modelUrl;
  if (modelBaseUrl === null) {
    throw failure(
      'Spec.Invalid',
      'model.baseUrl is not set and this worker knows no policy server (WHET_MODEL_URL). Set the field, or ' +
        'start everything with `whet up`.',
    );
  }
  const modelPath = model.path === undefined ? known.modelPath : resolve(folder, model.path);
  if (modelPath === null) {
    const remedy =
      model.recipe === undefined
        ? 'Set it to the directory of the base model'
        : 'Start everything with `whet up`, which runs model.recipe';
    throw failure('Spec.Invalid', `model.path is not set, so the trainer has no base model. ${remedy}.`);
  }
  // A key means a hosted endpoint; a base URL alone, one's own server without keys.
  const configured = analyst.baseUrl ?? known.analyst.baseUrl ?? (known.analyst.apiKey === null ? null : OPENAI);
  const analystBaseUrl = configured ?? known.analyst.demoUrl;
  if (analystBaseUrl === null) {
    throw failure(
      'Spec.Invalid',
      'There is no analyst: analyst.baseUrl, OPENAI_API_KEY and OPENAI_BASE_URL are not set and no demo ' +
        'analyst is running. Set one of them, or start everything with `whet up`.',
    );
  }
  const analystModel = analyst.model ?? known.analyst.model;
  if (analystModel === null && configured !== null) {
    throw failure(
      'Spec.Invalid',
      `analyst.model is not set, so it is open which model of ${analystBaseUrl} to ask. Set the field or ` +
        'WHET_ANALYST_MODEL.',
    );
  }
  // A model that is meant for another endpoint must not be asked of the demo analyst.
  return {
    modelBaseUrl: trimmed(modelBaseUrl),
    modelPath,
    analystBaseUrl: trimmed(analystBaseUrl),
    analystModel: configured === null ? null : analystModel,
  };
}

function trimmed(url: string): string {
  return url.replace(/\/+$/, '');
}
