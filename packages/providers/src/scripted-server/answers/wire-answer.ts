/** What a model says, in no provider's words. It comes in this order: reasoning, text, tool calls. */
export interface WireAnswer {
  readonly reasoning?: string;
  /**
   * What the provider wants back with the reasoning: Anthropic's signature, the encrypted content of
   * Responses, Gemini's thought signature. Chat completions have none.
   */
  readonly signature?: string;
  /** With `stop: 'refusal'` it is the refusal, where the wire has a field for that. */
  readonly text?: string;
  readonly toolCalls?: readonly WireToolCall[];
  /** Without it chat completions and Gemini say nothing of usage; the others always do, and say 0. */
  readonly usage?: WireUsage;
  /** `tool_use` if there are tool calls, else `stop`. */
  readonly stop?: WireStop;
  /** The stream breaks here: what came last is not closed, and the error comes instead of the end. */
  readonly failure?: WireFailure;
  readonly model?: string;
  /** What the ids of the response and its items are made of. */
  readonly id?: string;
}

export interface WireToolCall {
  /** One is made up where there is none; Gemini sends only one that is given. */
  readonly id?: string;
  readonly name: string;
  /** JSON text, or anything else: Gemini alone cannot send what is no object. */
  readonly arguments: string;
}

/** In core's sense: `input` includes the cache, `output` the reasoning. */
export interface WireUsage {
  readonly input: number;
  readonly output: number;
  readonly cacheRead?: number;
  readonly cacheWrite?: number;
  readonly reasoning?: number;
}

/** `raw` is the wire's own word, whatever it means. */
export type WireStop =
  | 'stop'
  | 'length'
  | 'tool_use'
  | 'content_filter'
  | 'refusal'
  | 'pause'
  | { readonly raw: string };

/** An error in the provider's own words, for instance `overloaded_error`. */
export interface WireFailure {
  readonly type: string;
  readonly message: string;
  /** OpenAI's `error.code`. */
  readonly code?: string;
}

/** The protocols that the scripted server can speak. */
export type WireName = 'openai-chat' | 'openai-responses' | 'anthropic' | 'gemini';

export const wireNames: readonly WireName[] = [
  'openai-chat',
  'openai-responses',
  'anthropic',
  'gemini',
];

const routes: readonly (readonly [RegExp, WireName])[] = [
  [/\/chat\/completions$/, 'openai-chat'],
  [/\/responses$/, 'openai-responses'],
  [/\/messages$/, 'anthropic'],
  [/\/models\/[^/]+:streamGenerateContent$/, 'gemini'],
];

/** The wire that a request to this path speaks. What stands before the known end is the base URL's. */
export function wireOfPath(path: string): WireName | undefined {
  return routes.find(([form]) => form.test(path))?.[1];
}
