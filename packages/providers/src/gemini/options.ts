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
