import type { GoogleAccessToken } from '../clouds/google-token.ts';
import type { GeminiTool } from '../contract/hosted-tools.ts';
import type { Uploads } from '../contract/uploads.ts';
import type { ApiOptions } from '../wire/api-options.ts';

/**
 * Options of `gemini`. Default of `apiKey`: the environment variable `GEMINI_API_KEY` or
 * `GOOGLE_API_KEY`.
 */
export interface GeminiOptions extends ApiOptions, GoogleToolOptions {
  /**
   * Uploads large attachments once, so that requests contain only their ids. Create it with `createUploads`.
   * Default: each request contains the attachments.
   */
  readonly uploads?: Uploads | undefined;
}

/** Options for both of Google's APIs. */
export interface GoogleToolOptions {
  /**
   * Tools that Google runs, in the format of the API: `{ googleSearch: {} }`. Models before generation 3 do
   * not accept them together with tools of a request. Default: none.
   */
  readonly extraTools?: readonly GeminiTool[] | undefined;
}

/** Options of `vertex`. */
export interface VertexOptions extends Omit<ApiOptions, 'apiKey'>, GoogleToolOptions {
  /** The id of the Google Cloud project. */
  readonly project: string;
  /** The Google Cloud location, for example `global` or `europe-west4`. */
  readonly location: string;
  /**
   * An OAuth token, or a function that returns the current token. The function is called before each request.
   * Default: the package `google-auth-library`, if it is installed, finds the credentials of this machine.
   */
  readonly accessToken?: GoogleAccessToken;
  /**
   * If true, the arguments of a call stream in pieces. Otherwise each call arrives complete. Default: false.
   */
  readonly streamFunctionCallArguments?: boolean | undefined;
}
