import type { ResponsesTool } from '../contract/hosted-tools.ts';
import type { Uploads } from '../contract/uploads.ts';
import type { ApiOptions } from '../wire/api-options.ts';
import type { Endpoint } from '../wire/endpoint.ts';

/** Options of `openaiResponses`. */
export interface ResponsesOptions extends ApiOptions {
  /**
   * The server. Default: `openai`, or `compatible` if the options contain a base URL but no preset.
   */
  readonly preset?: ResponsesPreset | undefined;
  /** Differences between the server and its preset. Default: none. */
  readonly dialect?: Partial<ResponsesDialect> | undefined;
  /**
   * Whether the provider stores the response. If not, the next request contains everything that the
   * provider needs. Default: false.
   */
  readonly store?: boolean | undefined;
  /**
   * If true, a request contains only the items that are new since the last response, and the id of
   * that response. The provider must store responses, so `store` is then true by default. If the
   * history was changed, or the provider has lost the response, the whole history is sent. Default:
   * false.
   */
  readonly sendsOnlyNew?: boolean | undefined;
  /**
   * If true, responses run in the background. The provider must store such responses, so `store` is
   * then true by default. If a connection breaks, the provider opens a new one, and the stream
   * continues after the last event. An abort also stops the response on the server. Default: false.
   */
  readonly background?: boolean | undefined;
  /**
   * How much of the reasoning to show. Default: `auto` if the request asks for reasoning, otherwise
   * `none`.
   */
  readonly reasoningSummary?: 'auto' | 'concise' | 'detailed' | 'none' | undefined;
  /**
   * Whether to request encrypted reasoning, which can be sent back. Default: true, unless responses
   * are stored or the model does not reason.
   */
  readonly encryptedReasoning?: boolean | undefined;
  /** Whether the model may make several calls at once. Default: that of the provider. */
  readonly parallelToolCalls?: boolean | undefined;
  /**
   * Tools in the format of the API: hosted tools, and custom tools with plain text input. A tool
   * replaces the request's tool of the same name. Default: none.
   */
  readonly extraTools?: readonly ResponsesTool[] | undefined;
  /**
   * Uploads large attachments once, and requests then contain only their ids. Create it with
   * `createUploads`. Default: each request contains the attachments.
   */
  readonly uploads?: Uploads | undefined;
}

/** The servers with known settings. */
export type ResponsesPreset =
  | 'compatible'
  | 'openai'
  | 'azure'
  | 'openrouter'
  | 'xai'
  | 'lm-studio';

/** The differences between servers of this API. */
export interface ResponsesDialect extends Endpoint {
  /**
   * Whether to send back reasoning that is not encrypted, before each call. Servers of open models
   * need it, but OpenAI rejects it.
   */
  readonly plainReasoning: boolean;
  /** Whether assistant messages need ids. OpenAI rejects ids that it did not create. */
  readonly needsMessageIds: boolean;
  /**
   * Whether the server has OpenAI's built-in tools, which the client runs. Otherwise a tool with
   * `answers` is declared as a function.
   */
  readonly builtInTools: boolean;
  /**
   * Whether the server itself runs calls of custom tools that the request does not declare. xAI
   * sends its searches as such calls.
   */
  readonly runsCustomCalls: boolean;
  /** Whether the server accepts `prompt_cache_key`. */
  readonly hasPromptCacheKey: boolean;
  /**
   * Whether the server reports that it cut an answer at `max_output_tokens`. llama.cpp reports such
   * an answer as completed. For such a server, the number of tokens shows whether the answer was
   * cut.
   */
  readonly reportsCut: boolean;
  /**
   * Whether the server has `/responses/input_tokens`. An unknown server is asked until it answers
   * that it does not have it.
   */
  readonly countsTokens: boolean;
  /** Whether the server accepts a long cache retention, for models that have it. */
  readonly longCache: boolean;
}
