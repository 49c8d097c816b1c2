import type { JsonObject } from '@millrace/core';
import type { ApiOptions } from '../wire/api-options.ts';
import type { ModelTraits } from './model-traits.ts';

export interface AnthropicOptions extends ApiOptions {
  /** Instead of a key, for gateways: sent as a bearer. */
  readonly authToken?: string | undefined;
  /** Of the API. */
  readonly version?: string | undefined;
  /** Features that are not for everyone yet, by their names in the `anthropic-beta` header. */
  readonly betas?: readonly string[] | undefined;
  /** Of thinking and answer together, where the request does not say. */
  readonly maxTokens?: number | undefined;
  /** How the model is asked to think, where its name does not tell. */
  readonly thinking?: ModelTraits['thinking'] | undefined;
  /** How output that fits a schema is asked for, where the model's name does not tell. */
  readonly structuredOutput?: ModelTraits['structuredOutput'] | undefined;
  /** Tools that Anthropic runs, as its API has them: `{ type: 'web_search_20250305', … }`. */
  readonly hostedTools?: readonly JsonObject[] | undefined;
  /** Arguments come as they are written rather than value by value, and may turn out not to be JSON. */
  readonly eagerInputStreaming?: boolean | undefined;
}
