import { isJsonObject, type JsonValue } from '@millrace/core';
import { fetchJson, type JsonTransport } from './fetch-json.ts';

/** A kind of server that users run themselves, and that reports the size of its models' context windows. */
export type WindowServer = 'ollama' | 'llama.cpp' | 'lm-studio' | 'vllm';

/** Options of `readContextWindow`. */
export interface WindowOptions extends JsonTransport {
  readonly server: WindowServer;
  /** The base URL of the server's OpenAI-compatible API, including `/v1`. */
  readonly baseUrl: string | URL;
  readonly model: string;
  /** The key for the server. Default: no key is sent. */
  readonly apiKey?: string | undefined;
  /**
   * True if Ollama may load the model. Ollama reports the window only if the model is loaded. The next
   * request would load the model anyway. Default: false.
   */
  readonly loads?: boolean | undefined;
  /** The timeout of each request, in milliseconds. Default: 10,000 (10 s). */
  readonly timeoutMs?: number | undefined;
  /** Aborts the request. Default: only the timeout aborts it. */
  readonly signal?: AbortSignal | undefined;
}

/** The time that Ollama may take to load a model, in milliseconds. */
const loadTimeoutMs = 300_000;

/**
 * Asks a server how many tokens fit into the context of a model. The server often allows fewer tokens than
 * the model could process. Resolves with undefined if the server does not report the number.
 *
 * @example
 * const baseUrl = 'http://127.0.0.1:11434/v1';
 * const tokens = await readContextWindow({ server: 'ollama', baseUrl, model: 'qwen3' });
 */
export async function readContextWindow(options: WindowOptions): Promise<number | undefined> {
  const { server, apiKey, timeoutMs, signal } = options;
  const base = String(options.baseUrl).replace(/(?<!\/)\/+$/, '');
  const root = base.replace(/\/v1$/, '');
  const headers = apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` };
  const ask = (url: string, body?: JsonValue, ms = timeoutMs) =>
    fetchJson(options, { url, headers, body, timeoutMs: ms, signal });
  switch (server) {
    case 'ollama':
      return ollamaWindow(options, root, ask);
    case 'llama.cpp':
      return (
        tokensIn(fieldOf(await ask(`${root}/props`), 'default_generation_settings'), ['n_ctx']) ??
        listedWindow(await ask(`${base}/models`), options.model)
      );
    case 'lm-studio':
      return (
        listedWindow(await ask(`${root}/api/v0/models`), options.model) ??
        listedWindow(await ask(`${base}/models`), options.model)
      );
    case 'vllm':
      return listedWindow(await ask(`${base}/models`), options.model);
  }
}

type Ask = (url: string, body?: JsonValue, timeoutMs?: number) => Promise<JsonValue | undefined>;

/**
 * Reads the window of an Ollama model. Ollama reports the window only for a loaded model. For other models,
 * the Modelfile may set a window.
 */
async function ollamaWindow(
  { model, loads = false }: WindowOptions,
  root: string,
  ask: Ask,
): Promise<number | undefined> {
  const loaded = async () => runningWindow(await ask(`${root}/api/ps`), model);
  const running = await loaded();
  if (running !== undefined) return running;
  if (loads) {
    await ask(`${root}/api/generate`, { model, stream: false }, loadTimeoutMs);
    return loaded();
  }
  const parameters = fieldOf(await ask(`${root}/api/show`, { model }), 'parameters');
  const set = typeof parameters === 'string' ? /^num_ctx\s+(\d+)/m.exec(parameters) : null;
  return set === null ? undefined : Number(set[1]);
}

function runningWindow(answer: JsonValue | undefined, model: string): number | undefined {
  const running = listIn(answer, 'models').find((one) =>
    [fieldOf(one, 'name'), fieldOf(one, 'model')].some((name) => isSameModel(name, model)),
  );
  return tokensIn(running, ['context_length']);
}

/** Returns whether both names refer to the same model. Ollama adds `:latest` to a name without a tag. */
function isSameModel(name: JsonValue | undefined, model: string): boolean {
  return typeof name === 'string' && [model, `${model}:latest`].includes(name);
}

function listedWindow(answer: JsonValue | undefined, model: string): number | undefined {
  return listedContextTokens(listIn(answer, 'data').find((one) => fieldOf(one, 'id') === model));
}

/**
 * Reads the window from an entry of a model list. vLLM, LM Studio, OpenRouter and llama.cpp use different
 * field names. The window of a loaded model takes precedence.
 */
export function listedContextTokens(entry: JsonValue | undefined): number | undefined {
  const names = ['loaded_context_length', 'max_model_len', 'context_length', 'max_context_length'];
  return tokensIn(entry, names) ?? tokensIn(fieldOf(entry, 'meta'), ['n_ctx']);
}

function tokensIn(value: JsonValue | undefined, names: readonly string[]): number | undefined {
  const found = names.map((name) => fieldOf(value, name));
  return found.find((tokens) => typeof tokens === 'number' && tokens > 0) as number | undefined;
}

function listIn(value: JsonValue | undefined, name: string): readonly JsonValue[] {
  const list = fieldOf(value, name);
  return Array.isArray(list) ? list : [];
}

function fieldOf(value: JsonValue | undefined, name: string): JsonValue | undefined {
  return isJsonObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
}
