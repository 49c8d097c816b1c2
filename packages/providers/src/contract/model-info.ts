/**
 * The limits, abilities and prices of a model. If a field is missing, its value is unknown, and each provider
 * uses its own default.
 */
export interface ModelInfo {
  /** Maximum number of input tokens of one request. */
  readonly contextTokens?: number | undefined;
  /** Maximum number of output tokens of one answer, including reasoning tokens. */
  readonly maxOutputTokens?: number | undefined;
  /**
   * The kinds of attachments that the model reads. Attachments of other kinds are replaced by a text that
   * describes them.
   */
  readonly inputs?: readonly ModelInput[] | undefined;
  /** True if the model can reason. */
  readonly reasons?: boolean | undefined;
  /** The reasoning efforts that a request can set. An empty list means that the effort cannot be set. */
  readonly efforts?: readonly ModelEffort[] | undefined;
  /** The effort that the model uses if a request does not set one. */
  readonly defaultEffort?: ModelEffort | undefined;
  /**
   * The way in which a request enables reasoning, if the API has several ways. `effort` means by a level.
   * `budget` means by a number of tokens.
   */
  readonly thinking?: 'effort' | 'budget' | undefined;
  /** The smallest and the largest token budget, for a model whose reasoning is set by a budget. */
  readonly thinkingBudget?: readonly [min: number, max: number] | undefined;
  /** True if the model reasons in every answer, even if a request turns reasoning off. */
  readonly alwaysThinks?: boolean | undefined;
  /** States when the model accepts `temperature` and `top_p`: always, only without reasoning, or never. */
  readonly sampling?: 'always' | 'without_reasoning' | 'never' | undefined;
  /** True if the model can continue an assistant message at the end of a conversation. */
  readonly prefill?: boolean | undefined;
  /** True if the model accepts system messages inside a conversation. */
  readonly systemMessages?: boolean | undefined;
  /** True if a request can force the model to call a tool. */
  readonly forcedTools?: boolean | undefined;
  /** True if the API enforces a schema on the answers of this model. */
  readonly outputSchema?: boolean | undefined;
  /**
   * True if a request can have both tools and a schema for the answer. Such a model also accepts a mix of
   * tools: some that the provider runs, and some that the client runs.
   */
  readonly outputWithTools?: boolean | undefined;
  /**
   * True if the model rejects its own earlier tool calls when a request contains them without their
   * signatures.
   */
  readonly signedCalls?: boolean | undefined;
  /** True if tool results can contain pictures and other media. */
  readonly mediaInResults?: boolean | undefined;
  /** True if the provider can keep this model's cached prompts for a day. */
  readonly longCache?: boolean | undefined;
  /** The prices. `reported` means that the provider reports the cost of each answer. */
  readonly prices?: ModelPrices | 'reported' | undefined;
}

/** A kind of attachment that a model reads. */
export type ModelInput = (typeof modelInputs)[number];

export const modelInputs = ['image', 'pdf', 'audio', 'video'] as const;

/** A reasoning effort, with the name that providers use. */
export type ModelEffort = (typeof modelEfforts)[number];

/** All reasoning efforts, from the lowest to the highest. */
export const modelEfforts = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const;

/** Prices in one currency. Each price is an exact decimal number, for a million tokens. */
export interface TokenPrices {
  /** The price of input tokens that were neither read from a cache nor written to a cache. */
  readonly input: string;
  /** The price of output tokens. */
  readonly output: string;
  /** The price of input tokens that were read from a cache. Default: the price of input. */
  readonly cacheRead?: string | undefined;
  /** The price of input tokens that were written to a cache. Default: the price of input. */
  readonly cacheWrite?: string | undefined;
  /**
   * The price of input tokens that were written to a cache with a long lifetime. Default:
   * `cacheWrite`.
   */
  readonly cacheWriteLong?: string | undefined;
  /** The price of reasoning tokens. Default: the price of output. */
  readonly reasoning?: string | undefined;
}

/** The prices of a model. */
export interface ModelPrices extends TokenPrices {
  /** The currency as an ISO 4217 code. Default: `USD`. */
  readonly currency?: string | undefined;
  /**
   * Prices for requests with more input. If a request exceeds several limits, the entry with the largest of
   * these limits applies.
   */
  readonly above?: readonly TierPrices[] | undefined;
}

/** The prices for requests whose input exceeds a number of tokens. */
export interface TierPrices extends TokenPrices {
  /** The prices apply to requests that have more input tokens than this number. */
  readonly inputTokens: number;
}

/** A table with information about models. */
export interface ModelTable {
  /**
   * Returns the information about a model, or undefined if the model is unknown.
   *
   * @param provider The provider's id, for example `anthropic`.
   * @param model The model's name, as the API expects it.
   */
  find(provider: string, model: string): ModelInfo | undefined;
}
