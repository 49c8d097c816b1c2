import type { DeltaWriter, Ids, JsonObject, JsonValue, Stop, Usage } from '@millrace/core';
import type { Reported } from '../answer/reported-details.ts';
import type { ModelInfo } from '../contract/model-info.ts';
import type { ModelRequest } from '../contract/model-request.ts';
import type { WindowOptions } from '../tokens/context-window.ts';
import type { TokenCounter } from '../tokens/token-counter.ts';
import type { HttpRequest } from '../transport/http-request.ts';

/** The protocol of one provider, without any I/O. */
export interface Wire {
  /** The provider's id. Together with `model`, it identifies the owner of `providerState`. */
  readonly provider: string;
  readonly model: string;
  /**
   * The data about the model. If the provider does not report the cost of an answer, the prices determine
   * the cost.
   */
  readonly info?: ModelInfo | undefined;
  /**
   * Builds the HTTP request. Throws a `WireFault` of the kind `invalid_request` if the API cannot express the
   * request. The request names state at the provider only if that state belongs to `session`.
   */
  http(request: ModelRequest, session: string | undefined): HttpRequest;
  reader(context: ReaderContext): WireReader;
  /** Counts tokens with the provider's API. Undefined if it has no endpoint for counting. */
  readonly tokenCounter?: TokenCounter | undefined;
  /** Returns the server that reports the context window. Undefined if the server does not report it. */
  readonly windowSource?: (() => WindowSource) | undefined;
  /**
   * Adds data that expires, such as a token or a signature, immediately before the request is sent. It must
   * not change the body. Default: the request is sent as `http` built it.
   */
  readonly authorize?: ((request: HttpRequest) => Promise<HttpRequest>) | undefined;
  /**
   * Builds the request that continues a response after its connection was lost. Undefined if responses cannot
   * continue.
   */
  readonly resume?: ((at: Resumption) => HttpRequest) | undefined;
  /**
   * Builds the request that stops a response after an abort. Undefined if closing the connection is
   * sufficient.
   */
  readonly cancel?: ((at: Resumption) => HttpRequest) | undefined;
  /**
   * Creates the reader that splits a response into messages. It is a function and not a name, so that a
   * program contains only the code of the framing that it uses. Default: server-sent events.
   */
  readonly frames?: ((options: FrameReaderOptions) => FrameReader) | undefined;
}

/** Splits the bytes of a response into messages. */
export interface FrameReader {
  feed(bytes: Uint8Array): void;
  /** Called when the response has ended. */
  end(): void;
}

/** Options of a `FrameReader`. */
interface FrameReaderOptions {
  readonly onMessage: (data: string, event: string | undefined) => void;
  /** Called with text that does not belong to a message. */
  readonly onStrayText: (text: string) => void;
  /** Maximum length of one message. A longer message is an error. */
  readonly maxEventLength: number;
}

/** A position in a response that the provider stores. */
export interface Resumption {
  readonly responseId: string;
  /** The sequence number of the last event that was read, or -1. */
  readonly sequence: number;
}

export interface ReaderContext {
  readonly writer: DeltaWriter;
  readonly ids: Ids;
  readonly request: ModelRequest;
  /** The session that the request belongs to. State at the provider that the response names belongs to it. */
  readonly session?: string | undefined;
}

/**
 * Reads the messages of one response and writes deltas to the writer. It has no other side effects.
 */
export interface WireReader {
  /** Reads one message of the stream. Throws a `WireFault` if it is invalid or reports an error. */
  readMessage(data: JsonObject, event: string | undefined): void;
  /** Reads the usage from a message that reports an error. Undefined if such messages contain no usage. */
  readUsageOfError?(data: JsonObject): void;
  /** Reads a complete answer from a server that does not stream. */
  readWholeBody(body: JsonValue): void;
  /**
   * The progress of the response. `reading`: the answer is not complete. `answered`: the answer is complete,
   * but further answers to the same request follow. `done`: the provider signaled the end, and only usage can
   * follow. `over`: no further data can follow.
   */
  readonly progress: 'reading' | 'answered' | 'done' | 'over';
  /**
   * Commits the open parts and returns the stop reason. Called once, after the provider signaled the end.
   * Throws like `readMessage`.
   */
  finish(): Stop;
  /** The data that the provider has reported about the response until now. */
  readonly details: ReportedResponse;
  /**
   * The text that the last message appended. It is set only if the message had no other effect. Later
   * messages that differ only in this text are not parsed any more.
   */
  readonly lastAppend?: LastAppend | undefined;
  /**
   * The position from which the response can continue if the connection is lost. Undefined if the response
   * cannot continue.
   */
  readonly resumption?: Resumption | undefined;
}

/** All data that a provider reported, except the content and the stop reason. */
export interface ReportedResponse extends Reported {
  readonly usage?: Usage | undefined;
}

/**
 * The text that a message appended, and a function that appends the text of a later message of the same form.
 */
export interface LastAppend {
  readonly text: string;
  readonly append: (text: string) => void;
}

/** The server that reports the context window, and its key. */
type WindowSource = Pick<WindowOptions, 'server' | 'baseUrl' | 'apiKey'>;
