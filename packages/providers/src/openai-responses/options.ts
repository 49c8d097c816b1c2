import type { ResponsesTool } from '../contract/hosted-tools.ts';
import type { Uploads } from '../contract/uploads.ts';
import type { ApiOptions } from '../wire/api-options.ts';
import type { Endpoint } from '../wire/endpoint.ts';

/** Options of `openaiResponses`. */
export interface ResponsesOptions extends ApiOptions {
  /** The server. Default: `openai`, or `compatible` if only a base URL is given. */
  readonly preset?: ResponsesPreset | undefined;
  /** Differences between the server and its preset. Default: none. */
  readonly dialect?: Partial<ResponsesDialect> | undefined;
  /**
   * Whether the provider stores the response. If not, the next request sends everything that it
   * needs. Default: false.
   */
  readonly store?: boolean | undefined;
  /**
   * Sends only what is new since the last response, and names that response for the rest. The
   * provider must store responses, so `store` is true by default then. A history that was changed,
   * or that the provider has lost, is sent as a whole. Default: false.
   */
  readonly sendsOnlyNew?: boolean | undefined;
  /**
   * Runs responses in the background. A connection that breaks is opened again, and the response is
   * read on from the last event. An abort stops the response. `store` is true by default then.
   * Default: false.
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
  /** Whether the model may make several calls at once. Default: the provider's. */
  readonly parallelToolCalls?: boolean | undefined;
  /**
   * Tools in the format of the API: hosted tools, and custom tools with plain text input. A tool
   * replaces the request's tool of the same name. Default: none.
   */
  readonly extraTools?: readonly ResponsesTool[] | undefined;
  /**
   * Uploads large attachments once, so that requests only name them. Made by `createUploads`.
   * Default: attachments are sent inside of each request.
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

/** How the servers of this API differ. */
export interface ResponsesDialect extends Endpoint {
  /**
   * Whether to send back reasoning that is not encrypted, before each call. Servers of open models
   * need it; OpenAI rejects it.
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
   * an answer as completed, so the number of tokens decides.
   */
  readonly reportsCut: boolean;
  /** Whether the server has `/responses/input_tokens`. Unknown servers are asked once. */
  readonly countsTokens: boolean;
  /** Whether the server accepts a long cache retention, for the models that have it. */
  readonly longCache: boolean;
}
