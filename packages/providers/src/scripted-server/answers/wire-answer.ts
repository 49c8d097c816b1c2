import { ScriptedServerError } from '../script.ts';

/**
 * The answer of a model, independent of any provider. It is streamed in this order: reasoning,
 * text, tool calls.
 */
export interface WireAnswer {
  readonly reasoning?: string;
  /**
   * Data that the provider requires back with the reasoning: Anthropic's signature, the encrypted
   * content of Responses, or Gemini's thought signature. Chat completions have none.
   */
  readonly signature?: string;
  /** With `stop: 'refusal'`, this is the refusal text on wires that have a field for it. */
  readonly text?: string;
  readonly toolCalls?: readonly WireToolCall[];
  /**
   * Token counts. Default: chat completions and Gemini send no usage; the other wires send zeros.
   */
  readonly usage?: WireUsage;
  /** Why the answer ends. Default: `tool_use` if there are tool calls, otherwise `stop`. */
  readonly stop?: WireStop;
  /**
   * The stream fails after the content: the last block stays open, and this error replaces the end.
   */
  readonly failure?: WireFailure;
  /** Name of the model. Default: the model of the request, or `scripted-model`. */
  readonly model?: string;
  /** Prefix for the ids of the response and its items. Default: `scripted`. */
  readonly id?: string;
}

/** A tool call of a `WireAnswer`. */
export interface WireToolCall {
  /** Default: a generated id. On Gemini the default is no id. */
  readonly id?: string;
  readonly name: string;
  /** JSON text, or any other text. Gemini can only send JSON objects. */
  readonly arguments: string;
}

/**
 * Token counts as defined in core: `input` includes cached tokens, `output` includes reasoning
 * tokens.
 */
export interface WireUsage {
  readonly input: number;
  readonly output: number;
  readonly cacheRead?: number;
  readonly cacheWrite?: number;
  readonly reasoning?: number;
}

/** Why an answer ends. `raw` is sent on the wire unchanged. */
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

/** Throws if an answer has an unknown field. The server would not send it. */
export function assertAnswer(answer: WireAnswer): void {
  const unknown = Object.keys(answer).find((name) => !Object.hasOwn(answerFields, name));
  if (unknown === undefined) return;
  const known = Object.keys(answerFields).join(', ');
  const message = `Cannot queue the answer: it has no field ${unknown}. Known fields: ${known}`;
  throw new ScriptedServerError('bad_script', message);
}

/** The protocols that the scripted server supports. */
export type WireName = 'openai-chat' | 'openai-responses' | 'anthropic' | 'gemini';

/** All supported wires. */
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
 * Finds the wire for a request path. Everything before the known ending belongs to the base URL.
 */
export function wireOfPath(path: string): WireName | undefined {
  return routes.find(([form]) => form.test(path))?.[1];
}
