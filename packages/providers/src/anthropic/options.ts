import type { AnthropicTool } from '../contract/hosted-tools.ts';
import type { Uploads } from '../contract/uploads.ts';
import type { ApiOptions } from '../wire/api-options.ts';

/** Options of `anthropic`. */
export interface AnthropicOptions extends ApiOptions {
  /** A bearer token instead of an API key, for gateways. */
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
   * Default: depends on the model.
   */
  readonly maxTokens?: number | undefined;
  /** How to request thinking. Default: derived from the model's name. */
  readonly thinking?: ModelTraits['thinking'] | undefined;
  /** How to request output with a schema. Default: derived from the model's name. */
  readonly structuredOutput?: ModelTraits['structuredOutput'] | undefined;
  /**
   * Whether instructions inside of the conversation are sent as system messages. Bedrock, Vertex AI
   * and gateways may reject them. Default: derived from the model's name, and false with a
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
  /** Used if neither request nor options set it. It is not above the model's limit. */
  readonly maxTokens: number;
}

const withoutThinking: ModelTraits = {
  thinking: 'none',
  canStopThinking: true,
  takesTemperature: true,
  structuredOutput: 'tool',
  systemMessages: false,
  prefill: true,
  maxTokens: 4096,
};

const budgeted: ModelTraits = { ...withoutThinking, thinking: 'budget', maxTokens: 32_000 };

const adaptive: ModelTraits = {
  thinking: 'adaptive',
  canStopThinking: true,
  takesTemperature: false,
  structuredOutput: 'format',
  systemMessages: false,
  prefill: false,
  maxTokens: 64_000,
};

/** By the start of the name. The first match counts. */
const traitsByName: readonly (readonly [form: RegExp, traits: ModelTraits])[] = [
  [/^claude-(?:instant|v?2|3-(?:opus|sonnet|haiku))\b/, withoutThinking],
  [/^claude-3-5-/, { ...withoutThinking, maxTokens: 8192 }],
  [/^claude-3-7-/, budgeted],
  [/^claude-(?:opus|sonnet)-4(?:-0)?(?:[-@]\d{8}.*)?$/, budgeted],
  [/^claude-opus-4-1\b/, { ...budgeted, structuredOutput: 'format' }],
  [/^claude-[a-z]+-4-5\b/, { ...budgeted, structuredOutput: 'format', maxTokens: 64_000 }],
  [/^claude-[a-z]+-4-6\b/, { ...adaptive, takesTemperature: true }],
  [/^claude-opus-4-8\b/, { ...adaptive, systemMessages: true }],
  [/^claude-(?:opus-4-7|(?:opus|sonnet)-5(?!-\d\b)|haiku-5(?:-5)?)\b/, adaptive],
  [/^claude-/, { ...adaptive, canStopThinking: false }],
];

/** Other vendors mostly implement an early version of this API. */
const otherVendors: ModelTraits = { ...budgeted, maxTokens: 16_384 };

/**
 * Returns the traits of a model by its name. Gateways add a prefix, and write 4.5 instead of 4-5.
 */
export function traitsOf(model: string): ModelTraits {
  const name = model
    .toLowerCase()
    .replaceAll('.', '-')
    .replace(/^.*?(?=claude-)/, '');
  return traitsByName.find(([form]) => form.test(name))?.[1] ?? otherVendors;
}
