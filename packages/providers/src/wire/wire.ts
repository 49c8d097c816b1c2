import type { DeltaWriter, Ids, JsonObject, JsonValue, Stop, Usage } from '@millrace/core';
import type { Reported } from '../answer/reported-details.ts';
import type { ModelInfo } from '../contract/model-info.ts';
import type { ModelRequest } from '../contract/model-request.ts';
import type { WindowOptions } from '../tokens/context-window.ts';
import type { TokenCounter } from '../tokens/token-counter.ts';
import type { HttpRequest } from '../transport/http-request.ts';

/** One provider's protocol, without any I/O. */
export interface Wire {
  /** Together with `model` the owner of `providerState`. */
  readonly provider: string;
  readonly model: string;
  /** What is known about the model. Its prices give the cost of answers without one. */
  readonly info?: ModelInfo | undefined;
  /**
   * Builds the HTTP request. Throws a `WireFault` of kind `invalid_request` if the wire cannot
   * express it.
   */
  http(request: ModelRequest): HttpRequest;
  reader(context: ReaderContext): WireReader;
  /** How the provider counts tokens. Default: it has no endpoint for that. */
  readonly tokenCounter?: TokenCounter | undefined;
  /** Where to read the context window. Default: the server does not tell it. */
  readonly windowSource?: (() => WindowSource) | undefined;
  /**
   * Adds what expires, such as a token or a signature, right before the request is sent. The body
   * must stay as it is. Default: the request is sent as `http` built it.
   */
  readonly authorize?: ((request: HttpRequest) => Promise<HttpRequest>) | undefined;
  /** Builds the request that reads on a response whose connection broke. Default: it cannot be. */
  readonly resume?: ((at: Resumption) => HttpRequest) | undefined;
  /** Builds the request that stops a response after an abort. Default: closing the connection does. */
  readonly cancel?: ((at: Resumption) => HttpRequest) | undefined;
  /**
   * Creates the reader that divides a response into messages. Default: server-sent events. It is a function
   * and not a name, so that only programs that use a framing contain its code.
   */
  readonly frames?: ((options: FrameReaderOptions) => FrameReader) | undefined;
}

/** Divides the bytes of a response into messages. */
export interface FrameReader {
  feed(bytes: Uint8Array): void;
  /** Called when the response has ended. */
  end(): void;
}

/** Options of a `FrameReader`. */
interface FrameReaderOptions {
  readonly onMessage: (data: string, event: string | undefined) => void;
  /** Called with text that belongs to no message. */
  readonly onStrayText: (text: string) => void;
  /** Maximum length of one message. A longer one is an error. */
  readonly maxEventLength: number;
}

/** A place in a response that the provider keeps. */
export interface Resumption {
  readonly responseId: string;
  /** The number of the last event that was read. -1 if there was none. */
  readonly sequence: number;
}

export interface ReaderContext {
  readonly writer: DeltaWriter;
  readonly ids: Ids;
  readonly request: ModelRequest;
}

/**
 * Reads one response: messages in, deltas to the writer. It has state, but no other side effects.
 */
export interface WireReader {
  /** Reads one message of the stream. Throws a `WireFault` if it is invalid or reports an error. */
  readMessage(data: JsonObject, event: string | undefined): void;
  /** Reads the usage of a message that reports an error. Default: it has none. */
  readUsageOfError?(data: JsonObject): void;
  /** Reads an answer in one piece, from a server that does not stream. */
  readWholeBody(body: JsonValue): void;
  /**
   * `answered`: the answer is complete, and further answers to the same request follow. `done`: the
   * provider's end arrived, and usage can follow. `over`: nothing can follow.
   */
  readonly progress: 'reading' | 'answered' | 'done' | 'over';
  /** Commits the open parts. Called once, after the provider's end. Throws like `readMessage`. */
  finish(): Stop;
  /** What the provider reported about the response so far. */
  readonly details: ReportedResponse;
  /**
   * Set if the last message only appended a text, and an equal message with another text would only
   * append that text. Such messages are not parsed any more.
   */
  readonly lastAppend?: LastAppend | undefined;
  /** Where to read on if the connection breaks. Default: nowhere. */
  readonly resumption?: Resumption | undefined;
}

/** Everything that a provider reported beside content and stop reason. */
export interface ReportedResponse extends Reported {
  readonly usage?: Usage | undefined;
}

/**
 * A message that only appended a text, and a function that appends the text of an equal message.
 */
export interface LastAppend {
  readonly text: string;
  readonly append: (text: string) => void;
}

/** A server that tells the context window, and the key for it. */
type WindowSource = Pick<WindowOptions, 'server' | 'baseUrl' | 'apiKey'>;
