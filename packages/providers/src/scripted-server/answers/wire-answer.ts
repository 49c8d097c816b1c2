import { ScriptedServerError } from '../script.ts';

/**
 * The answer of a model, independent of the provider. The server streams the reasoning first, then the text,
 * and then the tool calls.
 */
export interface WireAnswer {
  readonly reasoning?: string;
  /**
   * Data that the provider must get back with the reasoning. It is Anthropic's signature, the encrypted
   * content of Responses, or Gemini's thought signature. Chat completions have no such data.
   */
  readonly signature?: string;
  /**
   * The text. With `stop: 'refusal'`, it is the text of the refusal, if the wire format has a field for
   * refusals.
   */
  readonly text?: string;
  readonly toolCalls?: readonly WireToolCall[];
  /**
   * The token counts. Default: chat completions and Gemini send no usage, and the other wire formats send
   * zeros.
   */
  readonly usage?: WireUsage;
  /**
   * The reason why the answer ends. Default: `tool_use` if there are tool calls, otherwise `stop`.
   */
  readonly stop?: WireStop;
  /**
   * An error that ends the stream after the content. The last block stays open, and the error replaces the
   * normal end. Default: none.
   */
  readonly failure?: WireFailure;
  /** The name of the model. Default: the model of the request, or `scripted-model`. */
  readonly model?: string;
  /** The prefix for the ids of the response and its items. Default: `scripted`. */
  readonly id?: string;
}

/** A tool call of a `WireAnswer`. */
export interface WireToolCall {
  /** The id of the call. Default: a generated id. Gemini: no id. */
  readonly id?: string;
  readonly name: string;
  /** The arguments as JSON text, or any other text. For Gemini, the text must be a JSON object. */
  readonly arguments: string;
}

/**
 * Token counts with the meaning that `Usage` defines. `input` includes cached tokens, and `output`
 * includes reasoning tokens.
 */
export interface WireUsage {
  readonly input: number;
  readonly output: number;
  readonly cacheRead?: number;
  readonly cacheWrite?: number;
  readonly reasoning?: number;
}

/** The reason why an answer ends. The text in `raw` is sent unchanged. */
export type WireStop =
  | 'stop'
  | 'length'
  | 'tool_use'
  | 'content_filter'
  | 'refusal'
  | 'pause'
  | { readonly raw: string };

/** An error with the provider's own error type, for example `overloaded_error`. */
export interface WireFailure {
  readonly type: string;
  readonly message: string;
  /** The value of OpenAI's `error.code`. */
  readonly code?: string;
}

const answerFields: Readonly<Record<keyof WireAnswer, true>> = {
  reasoning: true,
  signature: true,
  text: true,
  toolCalls: true,
  usage: true,
  stop: true,
  failure: true,
  model: true,
  id: true,
};

/** Throws if an answer has an unknown field. Otherwise the server would silently ignore that field. */
export function assertAnswer(answer: WireAnswer): void {
  const unknown = Object.keys(answer).find((name) => !Object.hasOwn(answerFields, name));
  if (unknown === undefined) return;
  const known = Object.keys(answerFields).join(', ');
  const message = `Cannot queue the answer: it has no field ${unknown}. Known fields: ${known}`;
  throw new ScriptedServerError('bad_script', message);
}

/** The wire formats that the scripted server supports. */
export type WireName = 'openai-chat' | 'openai-responses' | 'anthropic' | 'gemini';

/** All supported wire formats. */
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

/**
 * Returns the wire format of a request path, or undefined. It checks only the end of the path, because the
 * rest belongs to the base URL.
 */
export function wireOfPath(path: string): WireName | undefined {
  return routes.find(([form]) => form.test(path))?.[1];
}
