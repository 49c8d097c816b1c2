import type { OptionNames } from '@millrace/core';
import type { AnthropicTool } from '../contract/hosted-tools.ts';
import type { ModelEffort, ModelInfo } from '../contract/model-info.ts';
import type { Uploads } from '../contract/uploads.ts';
import { type ApiOptions, apiOptionNames } from '../wire/api-options.ts';

/** Options of `anthropic`. */
export interface AnthropicOptions extends ApiOptions {
  /** A bearer token instead of an API key, for gateways. Default: none. */
  readonly authToken?: string | undefined;
  /** The API version. Default: `2023-06-01`. */
  readonly version?: string | undefined;
  /**
   * Beta features, by their names in the `anthropic-beta` header. Default: none, except those that
   * the history needs.
   */
  readonly betas?: readonly string[] | undefined;
  /**
   * Maximum number of tokens of thinking and answer together, if the request does not set it.
   * Default: the model's own maximum, but at most 64,000. For unknown models: 4,096.
   */
  readonly maxTokens?: number | undefined;
  /** How to request thinking. Default: by the table of models. */
  readonly thinking?: ModelTraits['thinking'] | undefined;
  /** How to request output with a schema. Default: by the table of models. */
  readonly structuredOutput?: ModelTraits['structuredOutput'] | undefined;
  /**
   * Whether instructions inside of the conversation are sent as system messages. Bedrock, Vertex AI
   * and gateways may reject them. Default: by the table of models, and false with a
   * `baseUrl`.
   */
  readonly systemMessages?: boolean | undefined;
  /**
   * Tools in the format of the API: those that Anthropic runs, such as `{ type:
   * 'web_search_20250305', name: 'web_search' }`, and those whose format it defines. A tool replaces
   * the request's tool of the same name. Default: none.
   */
  readonly extraTools?: readonly AnthropicTool[] | undefined;
  /**
   * Streams arguments as the model writes them, not value by value. They can turn out to be invalid
   * JSON. Default: false.
   */
  readonly eagerInputStreaming?: boolean | undefined;
  /**
   * Uploads large attachments once, so that requests only name them. Made by `createUploads`.
   * Default: attachments are sent inside of each request.
   */
  readonly uploads?: Uploads | undefined;
}

/** The names of the options of `anthropic`. */
export const anthropicOptionNames: OptionNames<AnthropicOptions> = {
  ...apiOptionNames,
  authToken: true,
  version: true,
  betas: true,
  maxTokens: true,
  thinking: true,
  structuredOutput: true,
  systemMessages: true,
  extraTools: true,
  eagerInputStreaming: true,
  uploads: true,
};

/** The options of a provider, and what they mean for its model. */
export interface AnthropicModel extends AnthropicOptions {
  /** The provider's id. It contains the host of a server that is not Anthropic's. */
  readonly id: string;
  readonly traits: ModelTraits;
}

/** How the API of a model differs from that of other models. */
export interface ModelTraits {
  /** `adaptive`: by effort. `budget`: by a number of tokens. `none`: the model cannot think. */
  readonly thinking: 'adaptive' | 'budget' | 'none';
  /** False for models that always think. */
  readonly canStopThinking: boolean;
  /** Whether the model accepts `temperature` and `top_p`. */
  readonly takesTemperature: boolean;
  /**
   * `format`: as text in the requested format. `tool`: as the input of a tool that the model must
   * call.
   */
  readonly structuredOutput: 'format' | 'tool';
  /**
   * Whether the model accepts instructions as system messages inside of the conversation. Otherwise
   * they are part of the user's turn.
   */
  readonly systemMessages: boolean;
  /** Whether the model continues an assistant message at the end of the conversation. */
  readonly prefill: boolean;
  /** Whether the model can be forced to call a tool. */
  readonly forcedTools: boolean;
  /** The levels of effort that the model accepts. */
  readonly efforts: readonly ModelEffort[];
  /**
   * The default for `max_tokens`, if neither the request nor the options set a value. It is never
   * higher than the model's limit.
   */
  readonly maxTokens: number;
}

/** The most that is asked for by default. A model can allow more. */
const maxDefaultTokens = 64_000;

/**
 * The default for unknown models. The API requires a maximum, and a server rejects one that exceeds
 * its context, which is often 8,192 tokens.
 */
const unknownMaxTokens = 4096;

const commonLevels: readonly ModelEffort[] = ['low', 'medium', 'high'];

/**
 * Returns the traits of a model by what is known about it. Unknown models mostly implement an early
 * version of this API.
 */
export function traitsOf(info: ModelInfo): ModelTraits {
  return {
    thinking: thinkingOf(info),
    canStopThinking: info.alwaysThinks !== true,
    takesTemperature: info.sampling !== 'never',
    structuredOutput: info.outputSchema === true ? 'format' : 'tool',
    systemMessages: info.systemMessages === true,
    prefill: info.prefill ?? true,
    forcedTools: info.forcedTools ?? true,
    efforts: info.efforts ?? commonLevels,
    maxTokens: Math.min(info.maxOutputTokens ?? unknownMaxTokens, maxDefaultTokens),
  };
}

function thinkingOf({ reasons, thinking }: ModelInfo): ModelTraits['thinking'] {
  if (reasons === false) return 'none';
  return thinking === 'effort' ? 'adaptive' : 'budget';
}
