import { isJsonObject, type JsonObject, type JsonValue, parseJson } from '@millrace/core';
import { IdleLimit, readSseData, redactKeys } from '@millrace/providers';

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
    }).catch((error: unknown) => {
      const text = error instanceof Error ? error.message : String(error);
      // The error of the library can contain the address.
      throw new Error(withoutSecrets(text, { url, headers }));
    });
    if (!response.ok) {
      const why = withoutSecrets(await refusal(response), { url, headers });
      throw new Error(`The agent refused the run: ${why}`);
    }
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
 * Removes the values of the headers, and secrets of the address, from a text of the agent, because agents often
 * repeat the token that they reject.
 */
export function withoutSecrets(
  text: string,
  { url, headers }: Pick<AgUiConnection, 'url' | 'headers'>,
): string {
  // The value can have a scheme, as in `Bearer abc`.
  const values = Object.values(headers).flatMap((value) => [value, ...value.split(/\s+/).slice(1)]);
  return redactKeys(text, [...values, ...secretsIn(url)]);
}

/** Shorter values of an address are ordinary words, such as `stop`. */
const minSecretLength = 8;

/**
 * Returns the values of the query and the parts of the path that can be secrets, as the address spells them and
 * decoded. A part of the path is a secret only if it has a digit or is long, because most parts are names.
 */
function secretsIn(url: string): readonly string[] {
  const { pathname, search, searchParams } = new URL(url);
  const values = search.slice(1).split('&');
  const query = [
    ...values.map((pair) => pair.slice(pair.indexOf('=') + 1)),
    ...searchParams.values(),
  ];
  const path = pathname.split('/').filter((part) => /\d/.test(part) || part.length >= 20);
  const spelled = [...query, ...path.flatMap((part) => [part, decoded(part)])];
  return spelled.filter(({ length }) => length >= minSecretLength);
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
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

/** Returns a field of an object, if it is a text. */
export function textIn(value: JsonValue | undefined, name: string): string | undefined {
  const field = isJsonObject(value) ? value[name] : undefined;
  return typeof field === 'string' ? field : undefined;
}
