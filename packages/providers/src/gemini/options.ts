import type { ApiOptions } from '../wire/api-options.ts';

/** `apiKey` may also be `GEMINI_API_KEY` or `GOOGLE_API_KEY` of the environment. */
export type GeminiOptions = ApiOptions;

export interface VertexOptions extends Omit<ApiOptions, 'apiKey'> {
  readonly project: string;
  /** For instance `global` or `europe-west4`. */
  readonly location: string;
  /** An OAuth token, or what gives the current one: it is asked before each request. */
  readonly accessToken: string | (() => string);
  /** Asks for arguments of calls in pieces, instead of each call in one. */
  readonly streamFunctionCallArguments?: boolean | undefined;
}

/** Aliases such as `gemini-flash-latest` stand for a model of this generation or a later one. */
const currentGeneration = 3;

/**
 * Which generation of Gemini a model is, by its name: 2.5 of `gemini-2.5-pro`. What the API takes
 * depends on it. 0 for all that is not Gemini, or does not say so.
 */
export function generationOf(model: string): number {
  const name = modelName(model);
  const [, generation] = /^gemini-(\d+(?:\.\d+)?)/.exec(name) ?? [];
  if (generation !== undefined) return Number(generation);
  return name.startsWith('gemini-') ? currentGeneration : 0;
}

/** Without the folders that stand before it, for instance `models/`. */
export function modelName(model: string): string {
  return model.slice(model.lastIndexOf('/') + 1);
}
