import type { OptionNames } from '@millrace/core';
import type { AnthropicTool } from '../contract/hosted-tools.ts';
import type { ModelEffort, ModelInfo } from '../contract/model-info.ts';
import type { Uploads } from '../contract/uploads.ts';
import { type ApiOptions, apiOptionNames } from '../wire/api-options.ts';

/** Options of `anthropic`. */
export interface AnthropicOptions extends ApiOptions {
  /** A bearer token that is sent instead of an API key, for gateways. Default: none. */
  readonly authToken?: string | undefined;
  /** The API version. Default: `2023-06-01`. */
  readonly version?: string | undefined;
  /**
   * Names of beta features for the `anthropic-beta` header. Features that the history requires are added
   * automatically. Default: none.
   */
  readonly betas?: readonly string[] | undefined;
  /**
   * Maximum number of tokens for thinking and answer together, if the request does not set it. Default: the
   * model's own maximum, but at most 64,000. For unknown models: 4,096.
   */
  readonly maxTokens?: number | undefined;
  /** The way to request thinking. Default: the entry in the table of models. */
  readonly thinking?: ModelTraits['thinking'] | undefined;
  /** The way to request output with a schema. Default: the entry in the table of models. */
  readonly structuredOutput?: ModelTraits['structuredOutput'] | undefined;
  /**
   * True if instructions inside the conversation are sent as system messages. Bedrock, Vertex AI and gateways
   * may reject them. Default: the entry in the table of models, but false if `baseUrl` is set.
   */
  readonly systemMessages?: boolean | undefined;
  /**
   * Tools in the format of the API. Anthropic runs some of them itself, such as `{ type:
   * 'web_search_20250305', name: 'web_search' }`. For other tools, Anthropic defines only the format. If the
   * request has a tool of the same name, the entry here replaces it. Default: none.
   */
  readonly extraTools?: readonly AnthropicTool[] | undefined;
  /**
   * If true, tool arguments stream as the model writes them, and not as complete values. The arguments may
   * turn out to be invalid JSON. Default: false.
   */
  readonly eagerInputStreaming?: boolean | undefined;
  /**
   * Uploads large attachments once, so that requests contain only their ids. Create it with `createUploads`.
   * Default: each request contains the attachments.
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

/** The options of a provider, with the traits of its model. */
export interface AnthropicModel extends AnthropicOptions {
  /** The provider's id. It contains the host name if the server does not belong to Anthropic. */
  readonly id: string;
  readonly traits: ModelTraits;
}

/** The differences between the APIs of the models. */
export interface ModelTraits {
  /**
   * The way in which a request enables thinking. `adaptive`: by a level of effort. `budget`: by a number of
   * tokens. `none`: the model cannot think.
   */
  readonly thinking: 'adaptive' | 'budget' | 'none';
  /** True if thinking can be turned off for this model. */
  readonly canStopThinking: boolean;
  /** True if the model accepts `temperature` and `top_p`. */
  readonly takesTemperature: boolean;
  /**
   * The way in which a request asks for structured output. `format`: the output is text in the requested
   * format. `tool`: the output is the input of a tool that the model must call.
   */
  readonly structuredOutput: 'format' | 'tool';
  /**
   * True if the model accepts instructions as system messages inside the conversation. Otherwise they are
   * sent as part of a user turn.
   */
  readonly systemMessages: boolean;
  /** True if the model can continue an assistant message at the end of the conversation. */
  readonly prefill: boolean;
  /** True if a request can force the model to call a tool. */
  readonly forcedTools: boolean;
  /** The levels of effort that the model accepts. */
  readonly efforts: readonly ModelEffort[];
  /**
   * The default of `max_tokens`, if neither the request nor the options set it. It is never higher than the
   * model's limit.
   */
  readonly maxTokens: number;
}

/** The highest default of `max_tokens`. The limit of the model itself may be higher. */
const maxDefaultTokens = 64_000;

/**
 * The default of `max_tokens` for unknown models, because the API requires a value. A server rejects a value
 * that is larger than its context, which often has 8,192 tokens.
 */
const unknownMaxTokens = 4096;

const commonLevels: readonly ModelEffort[] = ['low', 'medium', 'high'];

/**
 * Returns the traits of a model from the table of models. An unknown model gets the traits of an early
 * version of the API.
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
