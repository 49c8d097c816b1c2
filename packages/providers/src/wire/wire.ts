import type { DeltaWriter, Ids, JsonObject, JsonValue, Stop, Usage } from '@millrace/core';
import type { ModelRequest } from '../contract/model-request.ts';
import type { HttpRequest } from '../transport/http-request.ts';

/** One provider's protocol, without any I/O. */
export interface Wire {
  /** With `model` the owner of `providerState`. */
  readonly provider: string;
  readonly model: string;
  /** Throws a `WireFault` of kind `invalid_request` for what the wire cannot say. */
  http(request: ModelRequest): HttpRequest;
  reader(context: ReaderContext): WireReader;
}

export interface ReaderContext {
  readonly writer: DeltaWriter;
  readonly ids: Ids;
  readonly request: ModelRequest;
}

/** Reads one response: messages in, deltas into the writer. It remembers, and does nothing else. */
export interface WireReader {
  /** One message of the stream. Throws a `WireFault` where it cannot be, or says that it failed. */
  readMessage(data: JsonObject, event: string | undefined): void;
  /** The answer in one piece, of a server that does not stream. */
  readWholeBody(body: JsonValue): void;
  /** `done`: the provider's own end came, and usage may follow. `over`: nothing can follow. */
  readonly progress: 'reading' | 'done' | 'over';
  /** Commits what is open. Called once, after the provider's own end. Throws as `message` does. */
  finish(): Stop;
  /** What the provider has said about the response so far, however it ends. */
  readonly details: ResponseDetails;
  /**
   * Set where the last message did nothing but append a text, and one that differs in that text alone
   * would do nothing but append another: then the next one like it is not even parsed.
   */
  readonly lastAppend?: LastAppend | undefined;
}

export interface ResponseDetails {
  readonly usage?: Usage | undefined;
  readonly model?: string | undefined;
  readonly responseId?: string | undefined;
}

/** What a message did that did nothing but append a text, and what to do with the text of another. */
export interface LastAppend {
  readonly text: string;
  readonly append: (text: string) => void;
}
