import type { JsonObject } from '@millrace/core';
import type { ModelRequest } from '../contract/model-request.ts';
import type { Stream, StreamContext, StreamStep } from '../contract/provider.ts';
import { objectsIn } from '../json/fields.ts';
import type { HttpRequest } from '../transport/http-request.ts';
import type { Wire } from '../wire/wire.ts';
import { fingerprints, StoredResponses } from './stored-responses.ts';

interface SentRequest {
  /** The fingerprint of the whole input. */
  readonly print: string;
  /**
   * The id of the response that the request continues. Undefined if the request contains the whole history.
   */
  readonly previous: string | undefined;
}

/** The error code that the provider sends if it no longer has a stored response. */
const lostCode = 'previous_response_not_found';

/**
 * Builds requests that continue a stored response. They contain only the items that were added after that
 * response.
 */
export class ContinuedRequests {
  readonly #build: Wire['http'];
  readonly #stored = new StoredResponses();
  readonly #sent = new WeakMap<ModelRequest, SentRequest>();
  /** The requests that must contain the whole history, because the provider has lost a response. */
  readonly #whole = new WeakSet<ModelRequest>();

  constructor(build: Wire['http']) {
    this.#build = build;
  }

  http(request: ModelRequest, session: string | undefined): HttpRequest {
    const whole = this.#build(request, session);
    const input = objectsIn(whole.body, 'input');
    const prints = fingerprints(input, session);
    const isWhole = this.#whole.has(request) || 'previous_response_id' in whole.body;
    const found = isWhole ? undefined : this.#stored.find(input, prints);
    this.#sent.set(request, { print: prints.at(-1) ?? '', previous: found?.responseId });
    if (found === undefined) return whole;
    const { responseId, input: rest } = found;
    return { ...whole, body: { ...whole.body, input: rest, previous_response_id: responseId } };
  }

  /** Stores a complete response, so that later requests can continue it. */
  remember(request: ModelRequest, response: JsonObject): void {
    const sent = this.#sent.get(request);
    if (sent !== undefined) this.#stored.remember(sent.print, response);
  }

  /**
   * Streams the request. If the provider has lost the stored response, it streams again with the whole
   * history.
   */
  async *streamAgainIfLost(
    stream: Stream,
    request: ModelRequest,
    context: StreamContext,
  ): AsyncGenerator<StreamStep> {
    for await (const step of stream(request, context)) {
      const previous = this.#sent.get(request)?.previous;
      const isLost = step.end?.error?.providerCode === lostCode && previous !== undefined;
      if (!isLost) {
        yield step;
        continue;
      }
      this.#stored.forget(previous);
      this.#whole.add(request);
      return yield* stream(request, context);
    }
  }
}
