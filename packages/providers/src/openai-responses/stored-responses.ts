import type { JsonObject } from '@millrace/core';
import { objectsIn, textIn } from '../json/fields.ts';
import { builtInCall } from './built-ins/built-in-calls.ts';

/** A response that the provider stores, and its content. */
interface StoredResponse {
  readonly responseId: string;
  /** The content of the response's items, by item id. */
  readonly output: ReadonlyMap<string, string>;
}

/** The items of an input that still have to be sent, and the stored response that contains the others. */
interface Continuation {
  readonly responseId: string;
  readonly input: readonly JsonObject[];
}

/** Maximum number of responses in memory. The oldest response is removed first. */
const maxResponses = 1000;

/**
 * Tracks which inputs the provider has stored, so that a request sends only new items. If the history was
 * changed in the meantime, it does not match and is sent as a whole.
 */
export class StoredResponses {
  readonly #byInput = new Map<string, StoredResponse>();

  /**
   * Finds the longest prefix of an input that the provider has stored. Returns undefined if the provider has
   * stored no prefix.
   */
  find(input: readonly JsonObject[], prints: readonly string[]): Continuation | undefined {
    for (let length = input.length - 1; length > 0; length--) {
      const stored = this.#byInput.get(prints[length] ?? '');
      if (stored === undefined) continue;
      const rest = withoutOutput(input.slice(length), stored.output);
      return rest && { responseId: stored.responseId, input: rest };
    }
    return undefined;
  }

  /**
   * Stores a complete response. `print` is the fingerprint of the whole input, including items that were not
   * sent.
   */
  remember(print: string, response: JsonObject): void {
    const responseId = textIn(response, 'id');
    const output = objectsIn(response, 'output');
    if (responseId === undefined || output.length === 0) return;
    const contents = output.map((item) => [textIn(item, 'id') ?? '', contentOf(item)] as const);
    this.#byInput.delete(print);
    this.#byInput.set(print, { responseId, output: new Map(contents) });
    const [oldest] = this.#byInput.keys();
    if (this.#byInput.size > maxResponses && oldest !== undefined) this.#byInput.delete(oldest);
  }

  /** Removes a response that the provider no longer has. */
  forget(responseId: string): void {
    for (const [key, stored] of this.#byInput)
      if (stored.responseId === responseId) this.#byInput.delete(key);
  }
}

/**
 * Removes the items of a response from the start of an input. Returns undefined if the input does not start
 * with the same items, or if no other item is left.
 */
function withoutOutput(
  input: readonly JsonObject[],
  output: ReadonlyMap<string, string>,
): readonly JsonObject[] | undefined {
  const isOfResponse = (item: JsonObject) => {
    const content = output.get(textIn(item, 'id') ?? '');
    return content !== undefined && content === contentOf(item);
  };
  const end = input.findIndex((item) => !isOfResponse(item));
  if (end <= 0) return undefined;
  const found = new Set(input.slice(0, end).map((item) => textIn(item, 'id')));
  // The history may omit reasoning and items without content.
  const isWhole = [...output].every(([id, content]) => content === '' || found.has(id));
  return isWhole ? input.slice(end) : undefined;
}

/** Returns the content of an output item, which is compared with the history. */
function contentOf(item: JsonObject): string {
  switch (item['type']) {
    case 'message':
      return objectsIn(item, 'content')
        .map((part) => textIn(part, 'text') ?? textIn(part, 'refusal') ?? '')
        .join('\n');
    case 'function_call':
    case 'custom_tool_call':
      return JSON.stringify([item['call_id'], item['name'], item['arguments'] ?? item['input']]);
    default:
      // The history may contain the call of a built-in tool as a function call. In this case, the stored
      // response does not match.
      return builtInCall(textIn(item, 'type')) === undefined
        ? ''
        : JSON.stringify([item['type'], item['call_id'] ?? item['id'] ?? '']);
  }
}

/**
 * Returns the fingerprints of the input. The entry at index n is the fingerprint of the first n items. They
 * differ in each session, because a stored response can name a container of its session.
 */
export function fingerprints(
  input: readonly JsonObject[],
  session: string | undefined,
): readonly string[] {
  const prints = [session ?? ''];
  for (const item of input) prints.push(hash(`${prints.at(-1)}\n${JSON.stringify(item)}`));
  return prints;
}

/** Returns two independent hashes of 32 bits each, as one text. */
function hash(text: string): string {
  let [first, second] = [0x811c9dc5, 0x1b873593];
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    first = Math.imul(first ^ code, 0x01000193);
    second = Math.imul(second ^ code, 0x5bd1e995);
    second ^= second >>> 15;
  }
  return `${(first >>> 0).toString(36)}-${(second >>> 0).toString(36)}-${text.length}`;
}
