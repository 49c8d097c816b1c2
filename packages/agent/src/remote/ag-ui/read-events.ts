import { isJsonObject, type JsonObject, type JsonValue, parseJson } from '@millrace/core';
import { IdleLimit, readSseData } from '@millrace/providers';
import { maxProblemLength } from '../redacted-events.ts';

/** The address of an agent of AG-UI, and the settings of requests to it. */
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
  const idle = new IdleLimit(idleTimeoutMs);
  try {
    const response = await send(url, {
      ...{ method: 'POST', body: JSON.stringify(input), redirect: 'error' },
      signal: AbortSignal.any([signal, idle.signal]),
      headers: { accept: 'text/event-stream', 'content-type': 'application/json', ...headers },
    });
    if (!response.ok) throw new Error(`The agent refused the run: ${await refusal(response)}`);
    const onBytes = () => idle.restart();
    for await (const text of readSseData(response, { maxEventLength, onBytes })) {
      const parsed = parseJson(text);
      if (!parsed.ok || !isJsonObject(parsed.value))
        throw new Error('The agent sent an event that is not a JSON object');
      yield parsed.value;
    }
  } catch (error) {
    if (idle.signal.aborted && !signal.aborted)
      throw new Error(`The agent sent nothing for ${idleTimeoutMs} ms`, { cause: error });
    throw error;
  } finally {
    idle.stop();
  }
}

/**
 * Returns the status and the start of the body of a refused request. The start is not cut here, because a cut can leave a
 * part of a key: `redactedEvents` cuts the text.
 */
async function refusal(response: Response): Promise<string> {
  let text = '';
  const decoder = new TextDecoder();
  for await (const bytes of response.body ?? []) {
    text += decoder.decode(bytes, { stream: true });
    if (text.length > maxProblemLength) break;
  }
  return `HTTP status ${response.status}. ${text}`.trim();
}

/** Returns a field of an object, if it is a text. */
export function textIn(value: JsonValue | undefined, name: string): string | undefined {
  const field = isJsonObject(value) ? value[name] : undefined;
  return typeof field === 'string' ? field : undefined;
}
