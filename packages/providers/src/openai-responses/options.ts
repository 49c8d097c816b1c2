import type { ResponsesTool } from '../contract/hosted-tools.ts';
import type { Uploads } from '../contract/uploads.ts';
import type { ApiOptions } from '../wire/api-options.ts';
import type { Endpoint } from '../wire/endpoint.ts';

/** Options of `openaiResponses`. */
export interface ResponsesOptions extends ApiOptions {
  /** The server. Default: `openai`. If the options contain a base URL but no preset: `compatible`. */
  readonly preset?: ResponsesPreset | undefined;
  /** Settings in which the server differs from its preset. Default: none. */
  readonly dialect?: Partial<ResponsesDialect> | undefined;
  /**
   * True if the provider stores the response. If it does not, the next request contains all data that the
   * provider needs. Default: false.
   */
  readonly store?: boolean | undefined;
  /**
   * If true, a request contains only the items that were added after the last response, and the id of that
   * response. The provider must store responses, so the default of `store` is then true. If the history was
   * changed, or the provider has lost the response, the whole history is sent. Default: false.
   */
  readonly sendsOnlyNew?: boolean | undefined;
  /**
   * If true, responses run in the background. The provider must store these responses, so the default of
   * `store` is then true. If a connection breaks, a new connection is opened, and the stream continues after
   * the last event. An abort also stops the response on the server. Default: false.
   */
  readonly background?: boolean | undefined;
  /**
   * The level of detail of the summary of the reasoning. Default: `auto` if the request asks for reasoning,
   * otherwise `none`.
   */
  readonly reasoningSummary?: 'auto' | 'concise' | 'detailed' | 'none' | undefined;
  /**
   * If true, requests ask for encrypted reasoning, which later requests can send back. Default: true. If
   * responses are stored or the model does not reason: false.
   */
  readonly encryptedReasoning?: boolean | undefined;
  /** True if the model may make several calls in one answer. Default: the provider's default. */
  readonly parallelToolCalls?: boolean | undefined;
  /**
   * Tools in the format of the API: hosted tools, and custom tools with plain text input. If the request has
   * a tool of the same name, the entry here replaces it. Default: none.
   */
  readonly extraTools?: readonly ResponsesTool[] | undefined;
  /**
   * Uploads large attachments once, so that requests contain only their ids. Create it with `createUploads`.
   * Default: each request contains the attachments.
   */
  readonly uploads?: Uploads | undefined;
}

/** The servers for which this package has settings. */
export type ResponsesPreset =
  | 'compatible'
  | 'openai'
  | 'azure'
  | 'openrouter'
  | 'xai'
  | 'lm-studio';

/** The settings in which servers of this API differ. */
export interface ResponsesDialect extends Endpoint {
  /**
   * True if requests contain the unencrypted reasoning of earlier answers. If several tool calls followed the
   * same reasoning, the reasoning is repeated before each of these calls. Servers of open models need it, but
   * OpenAI rejects it.
   */
  readonly plainReasoning: boolean;
  /** True if assistant messages need ids. OpenAI rejects ids that it did not create. */
  readonly needsMessageIds: boolean;
  /**
   * True if the server supports OpenAI's built-in tools, which the client runs. Otherwise a tool with
   * `answers` is declared as a function.
   */
  readonly builtInTools: boolean;
  /**
   * True if the server itself runs calls of custom tools that the request does not declare. xAI sends its
   * searches as such calls.
   */
  readonly runsCustomCalls: boolean;
  /** True if the server accepts `prompt_cache_key`. */
  readonly hasPromptCacheKey: boolean;
  /**
   * True if the server reports that it cut an answer at `max_output_tokens`. llama.cpp reports such an answer
   * as completed. In this case, the number of tokens shows whether the answer was cut.
   */
  readonly reportsCut: boolean;
  /**
   * True if the server has the endpoint `/responses/input_tokens`. For an unknown server, requests are sent
   * until the server reports that the endpoint does not exist.
   */
  readonly countsTokens: boolean;
  /** True if the server accepts a long cache retention, for models that support it. */
  readonly longCache: boolean;
}
