import { type JsonValue, parseJson } from '@millrace/core';
import { type Clock, systemClock } from '@millrace/providers';
import { isListening } from './is-listening.ts';
import { fieldOf } from './json-field.ts';

/** A model that a server offers. */
export interface ListedModel {
  readonly id: string;
  readonly contextTokens?: number | undefined;
}

export interface ListOptions {
  readonly apiKey?: string | undefined;
  /** How long it may take. Short, because people wait for the prompt. */
  readonly timeoutMs?: number | undefined;
  readonly clock?: Clock | undefined;
  readonly fetch?: typeof fetch | undefined;
}

const maxListLength = 4_000_000;
const maxModels = 1000;

/**
 * The models of a server that speaks OpenAI's API. Undefined where there is none, where it is another
 * program that has the port, and where it takes too long.
 */
export async function listModels(
  baseUrl: string,
  options: ListOptions = {},
): Promise<readonly ListedModel[] | undefined> {
  const { apiKey, timeoutMs = 400, clock = systemClock } = options;
  // A fetch that was given knows better than we do what is there.
  const isAsked = options.fetch !== undefined || (await isListening(baseUrl, { clock, timeoutMs }));
  if (!isAsked) return undefined;
  const { fetch = globalThis.fetch } = options;
  const late = new AbortController();
  const cancel = clock.after(timeoutMs, () => late.abort());
  try {
    const response = await fetch(`${baseUrl}/models`, {
      headers: apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` },
      redirect: 'error',
      signal: late.signal,
    });
    return response.ok ? modelsIn(await textOf(response)) : undefined;
  } catch {
    return undefined;
  } finally {
    cancel();
    late.abort();
  }
}

/** Whatever has the port may send without end. */
async function textOf({ body }: Response): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  for await (const chunk of body ?? []) {
    text += decoder.decode(chunk, { stream: true });
    if (text.length > maxListLength) return '';
  }
  return text + decoder.decode();
}

function modelsIn(text: string): readonly ListedModel[] | undefined {
  const parsed = parseJson(text);
  const list = parsed.ok ? fieldOf(parsed.value, 'data') : undefined;
  if (!Array.isArray(list)) return undefined;
  return list.slice(0, maxModels).flatMap((entry: JsonValue) => {
    const id = fieldOf(entry, 'id');
    if (typeof id !== 'string' || id === '') return [];
    const contextTokens = contextOf(entry);
    return [{ id, ...(contextTokens !== undefined && { contextTokens }) }];
  });
}

/** vLLM, OpenRouter, LM Studio and llama.cpp each say it in another place. */
function contextOf(entry: JsonValue): number | undefined {
  const named = ['max_model_len', 'context_length', 'max_context_length'].map((name) =>
    fieldOf(entry, name),
  );
  const told = [...named, fieldOf(fieldOf(entry, 'meta'), 'n_ctx')];
  return told.find((value) => typeof value === 'number' && value > 0) as number | undefined;
}
