import { type JsonObject, type JsonValue, parseJson } from '@millrace/core';

/** How an agent of AG-UI is reached. */
export interface AgUiConnection {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly fetch: typeof fetch;
  /** Maximum time without a byte, in milliseconds. */
  readonly idleTimeoutMs: number;
}

/** Maximum length of one event, in characters. */
const maxEventLength = 16 * 2 ** 20;

/** Sends a run to an agent of AG-UI, and yields the events of the run. */
export async function* runEvents(
  { url, headers, fetch: send, idleTimeoutMs }: AgUiConnection,
  input: JsonObject,
  signal: AbortSignal,
): AsyncGenerator<JsonObject> {
  const idle = new AbortController();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const wait = () => {
    clearTimeout(timer);
    timer = setTimeout(() => idle.abort(), idleTimeoutMs);
  };
  try {
    wait();
    const response = await send(url, {
      ...{ method: 'POST', body: JSON.stringify(input), redirect: 'error' },
      signal: AbortSignal.any([signal, idle.signal]),
      headers: { accept: 'text/event-stream', 'content-type': 'application/json', ...headers },
    });
    if (!response.ok) throw new Error(`The agent refused the run: ${await refusal(response)}`);
    for await (const text of dataOf(response, wait)) {
      const parsed = parseJson(text);
      if (!parsed.ok || !isObject(parsed.value))
        throw new Error('The agent sent an event that is not a JSON object');
      yield parsed.value;
    }
  } catch (error) {
    if (idle.signal.aborted && !signal.aborted)
      throw new Error(`The agent sent nothing for ${idleTimeoutMs} ms`, { cause: error });
    throw error;
  } finally {
    clearTimeout(timer);
  }
}

const maxRefusalLength = 1000;

/** Returns the status and the start of the body of a refused request. */
async function refusal(response: Response): Promise<string> {
  let text = '';
  const decoder = new TextDecoder();
  for await (const bytes of response.body ?? []) {
    text += decoder.decode(bytes, { stream: true });
    if (text.length > maxRefusalLength) break;
  }
  return `HTTP status ${response.status}. ${text.slice(0, maxRefusalLength)}`.trim();
}

/** Yields the data of the server-sent events of a response. */
async function* dataOf(response: Response, onBytes: () => void): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let [rest, data] = ['', ''];
  for await (const bytes of response.body ?? []) {
    onBytes();
    const lines = (rest + decoder.decode(bytes, { stream: true })).split(/\r\n|\n|\r(?!$)/);
    rest = lines.pop() ?? '';
    for (const line of lines) {
      if (line === '') {
        if (data !== '') yield data.slice(1);
        data = '';
      } else if (line.startsWith('data:')) data += `\n${line.slice(5).trimStart()}`;
    }
    if (rest.length + data.length > maxEventLength)
      throw new Error('The agent sent an event that is too long');
  }
}

/** Returns whether a value is a JSON object. */
export function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Returns a field of an object, if it is a text. */
export function textIn(value: JsonValue | undefined, name: string): string | undefined {
  const field = isObject(value) ? value[name] : undefined;
  return typeof field === 'string' ? field : undefined;
}
