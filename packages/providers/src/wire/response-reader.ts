import {
  type Delta,
  type DeltaWriter,
  isJsonObject,
  type JsonValue,
  type Part,
  type PartStart,
  type Stop,
  type Usage,
} from '@millrace/core';
import { toDetails } from '../answer/reported-details.ts';
import type { ModelRequest } from '../contract/model-request.ts';
import type { ResponseEnd, StreamStep } from '../contract/provider.ts';
import type { Redactor } from '../errors/redactor.ts';
import { type FailedExchange, failureOf, responseError } from '../errors/response-error.ts';
import { secretWordsOf } from '../errors/secret-words.ts';
import { fault, faultBy, ReportedFault, reportsError, WireFault } from '../errors/wire-fault.ts';
import { parseMessage } from '../json/parse-message.ts';
import { closeParts } from '../provider/close-parts.ts';
import { Interrupted } from '../transport/failures.ts';
import { type HttpExchange, readText } from '../transport/http-exchange.ts';
import type { HttpRequest } from '../transport/http-request.ts';
import { SseReader } from '../transport/sse-reader.ts';
import type { Transport } from '../transport/transport-options.ts';
import { checkRequest } from './check-request.ts';
import { completeUsage, textLength } from './response-end.ts';
import { TemplateMatcher } from './template-matcher.ts';
import type { FrameReader, ReaderContext, ReportedResponse, Wire, WireReader } from './wire.ts';

/** Reads one HTTP response from its first byte to its end, including failures. */
export class ResponseReader {
  readonly #wire: Wire;
  readonly #context: ReaderContext;
  readonly #writer: DeltaWriter;
  #reader: WireReader = unopenedReader;
  #frames: FrameReader;
  readonly #templates = new TemplateMatcher();
  readonly #maxEventLength: number;
  readonly #exchanged: FailedExchange;
  #http: HttpRequest | undefined;
  /** Words of the keys of the request. A value without such a word contains no key. */
  #secretWords: readonly string[] = [];
  #messages = 0;
  #writtenLength = 0;
  /** The names of the tools that the model called. `undefined` represents blocks of hosted tools. */
  readonly #calledTools = new Set<string | undefined>();
  #sawDone = false;
  #isEnding = false;

  constructor(wire: Wire, transport: Transport, context: ReaderContext) {
    this.#wire = wire;
    this.#context = context;
    this.#writer = context.writer;
    this.#maxEventLength = transport.maxEventLength;
    this.#exchanged = { provider: wire.provider, clock: transport.clock };
    this.#frames = this.#createFrames();
  }

  /**
   * The progress of the response. After `[DONE]` it is `over`, because no further data follows, even if the
   * answer is not complete.
   */
  get progress(): WireReader['progress'] {
    return this.#sawDone ? 'over' : this.#reader.progress;
  }

  /** Sends the request. It also reads responses that are not streams: errors, and complete answers. */
  async open(exchange: HttpExchange): Promise<void> {
    const built = httpRequestFor(this.#wire, this.#context);
    this.#http = built;
    this.#reader = this.#wire.reader(this.#context);
    this.#exchanged.http = built;
    const response = await this.#send(built, exchange);
    const type = response.headers.get('content-type') ?? '';
    if (/\bjson\b/i.test(type) && !/stream|ndjson/i.test(type)) await this.#readWholeBody(exchange);
    else if (/\btext\/html\b/i.test(type)) throw webPageFault();
  }

  #createFrames(): FrameReader {
    const maxEventLength = this.#maxEventLength;
    const onMessage = (data: string, event: string | undefined) => this.#onMessage(data, event);
    const onStrayText = (text: string) => this.#onStrayText(text);
    const options = { maxEventLength, onMessage, onStrayText };
    return this.#wire.frames?.(options) ?? new SseReader(options);
  }

  /**
   * The request that continues the response after the connection was lost. Undefined if the response cannot
   * continue.
   */
  get resumption(): HttpRequest | undefined {
    const { resumption, progress } = this.#reader;
    if (resumption === undefined || progress !== 'reading' || this.#sawDone) return undefined;
    return this.#wire.resume?.(resumption);
  }

  /** The request that stops the response. Undefined if closing the connection is sufficient. */
  get cancellation(): HttpRequest | undefined {
    const { resumption, progress } = this.#reader;
    if (resumption === undefined || progress !== 'reading') return undefined;
    return this.#wire.cancel?.(resumption);
  }

  /** Continues the response on a new connection. */
  async reopen(exchange: HttpExchange, http: HttpRequest): Promise<void> {
    this.#frames = this.#createFrames();
    await this.#send(http, exchange);
  }

  async #send(http: HttpRequest, exchange: HttpExchange): Promise<Response> {
    const { authorize } = this.#wire;
    const sent = authorize === undefined ? http : await exchange.wait(authorize(http));
    this.#exchanged.http = sent;
    this.#secretWords = secretWordsOf(sent);
    const response = await exchange.open(sent);
    this.#exchanged.response = response;
    if (!response.ok) throw await failureOf(response, exchange);
    return response;
  }

  feed(bytes: Uint8Array): void {
    this.#frames.feed(bytes);
  }

  /** Returns the deltas that were written since the last call of `take`. */
  take(): readonly Delta[] {
    const deltas = this.#writer.take();
    for (const delta of deltas) {
      if (delta.type === 'append_text') this.#writtenLength += delta.chunk.length;
      else if (delta.type === 'begin_part') this.#recordCall(delta);
      else if (delta.type === 'commit_part' && delta.part) this.#recordCall(delta.part);
    }
    return deltas;
  }

  /** Returns the last step. Call it after the body has ended. Throws if the answer is not complete. */
  async finish(): Promise<StreamStep> {
    this.#isEnding = true;
    this.#frames.end();
    if (this.#reader.progress === 'reading') throw this.#truncated();
    const stop = await this.#redacted(this.#reader.finish());
    const deltas = await this.redactedDeltas(this.take());
    const ignored = ignoredToolChoice(stop, this.#context.request, this.#calledTools);
    if (ignored === undefined) return { deltas, end: { stop, ...(await this.#endDetails()) } };
    const { deltas: more, end } = await this.fail(
      fault('model_output_invalid', ignored),
      undefined,
    );
    return { deltas: [...deltas, ...more], end };
  }

  #recordCall(part: PartStart | Part): void {
    if (part.kind === 'tool_call') this.#calledTools.add(part.name);
    else if (part.kind === 'custom') this.#calledTools.add(undefined);
  }

  /** Returns the last step of a response that failed, was cut off or was aborted. */
  async fail(thrown: unknown, signal: AbortSignal | undefined): Promise<StreamStep> {
    const error = await responseError(this.#exchanged, thrown, signal);
    const reason = error.kind === 'aborted' ? 'aborted' : 'error';
    closeParts(this.#writer, reason === 'aborted' ? 'aborted' : 'cut');
    // Without the code that removes keys, for example because a page is offline, nothing more is written.
    const deltas = await this.redactedDeltas(this.take()).catch(() => []);
    const raw = error.providerCode === undefined ? {} : { raw: error.providerCode };
    const stop: Stop = { reason, ...raw, cause: error.kind };
    const details = await this.#endDetails(this.#mayHaveCost(thrown));
    return { deltas, end: { stop, ...details, error } };
  }

  /**
   * Returns whether the request may have used tokens. A rejected request uses no tokens. An interrupted
   * request may have been processed.
   */
  #mayHaveCost(thrown: unknown): boolean {
    const { response } = this.#exchanged;
    return response === undefined ? thrown instanceof Interrupted : response.ok;
  }

  /** Returns whether deltas may contain a key of the request outside of the text of the answer. */
  mayRepeatKey(deltas: readonly Delta[]): boolean {
    return this.#secretWords.length > 0 && deltas.some((delta) => this.#hasSecretWord(delta));
  }

  /** Removes the keys of the request from everything except the text of the answer. */
  async redactedDeltas(deltas: readonly Delta[]): Promise<readonly Delta[]> {
    return this.mayRepeatKey(deltas) ? (await this.#redactor()).deltas(deltas) : deltas;
  }

  async #redacted<Reported extends object>(reported: Reported): Promise<Reported> {
    return this.#hasSecretWord(reported) ? (await this.#redactor()).json(reported) : reported;
  }

  #hasSecretWord(value: object): boolean {
    if ('chunk' in value || this.#secretWords.length === 0) return false;
    // The bytes of a file would be a long list of numbers.
    const text = JSON.stringify(value, 'part' in value ? withoutBytes : undefined);
    return this.#secretWords.some((word) => text.includes(word));
  }

  /** This code loads on demand, because few servers repeat a key. */
  async #redactor(): Promise<Redactor> {
    const { Redactor, secretsOf } = await import('../errors/redactor.ts');
    const { http } = this.#exchanged;
    return new Redactor(http === undefined ? [] : secretsOf(http));
  }

  async #endDetails(mayHaveCost = true): Promise<Omit<ResponseEnd, 'stop'>> {
    // Keys are removed before the texts are cut, because a part of a key could remain.
    const all = this.#redacted(this.#reader.details);
    const { usage, ...reported } = await all.catch((): ReportedResponse => ({}));
    const { model, responseId } = reported;
    const details = toDetails(reported);
    const sentLength = () => this.#sentLength(mayHaveCost);
    const total = completeUsage(usage, sentLength, this.#writtenLength);
    return {
      usage: await this.#withCost(total),
      ...(model === undefined ? {} : { model }),
      ...(responseId === undefined ? {} : { responseId }),
      ...(details === undefined ? {} : { details }),
      ...(this.#http?.warnings?.length ? { warnings: this.#http.warnings } : {}),
    };
  }

  /**
   * Adds the cost to a usage. The code loads on demand, because no cost is computed without prices. If the
   * code cannot be loaded, for example because a page is offline, the cost stays unknown. An unknown cost
   * ends a run that has a maximum cost.
   */
  async #withCost(usage: Usage): Promise<Usage> {
    const prices = this.#wire.info?.prices;
    if (prices === undefined || prices === 'reported') return usage;
    try {
      const { withCost } = await import('../models/cost-of.ts');
      return withCost(usage, prices);
    } catch {
      return usage;
    }
  }

  #sentLength(mayHaveCost: boolean): number {
    return mayHaveCost && this.#http !== undefined ? textLength(this.#http.body) : 0;
  }

  #onMessage(data: string, event: string | undefined): void {
    // Data after the end that the provider signaled does not belong to this answer.
    if (this.#reader.progress === 'over') return;
    this.#messages++;
    if (this.#templates.apply(data, event)) return;
    if (isDone(data)) {
      this.#sawDone = true;
      return;
    }
    const value = parseMessage(data);
    if (event === 'error' || reportsError(value)) {
      if (isJsonObject(value)) this.#reader.readUsageOfError?.(value);
      throw new ReportedFault(value, event === 'error' ? data : undefined);
    }
    if (isJsonObject(value)) {
      this.#reader.readMessage(value, event);
      this.#learnTemplate(data, event);
    } else if (!this.#isEnding && !isPing(event)) {
      // If the body ended inside the event, `progress` later determines whether this is an error.
      throw fault('protocol_error', 'an event is not a JSON object');
    }
  }

  #learnTemplate(data: string, event: string | undefined): void {
    if (!this.#templates.wantsMore) return;
    const { lastAppend } = this.#reader;
    if (lastAppend !== undefined) this.#templates.learn(data, event, lastAppend);
  }

  async #readWholeBody(exchange: HttpExchange): Promise<void> {
    const { text, isCut } = await readText(exchange, this.#maxEventLength);
    if (isCut) throw fault('protocol_error', 'the answer in one piece is too long');
    const value = parseMessage(text);
    if (value === undefined) throw fault('protocol_error', 'the answer is not JSON');
    this.#onWholeBody(value);
  }

  #onWholeBody(body: JsonValue): void {
    if (reportsError(body)) throw new ReportedFault(body);
    this.#reader.readWholeBody(body);
  }

  /**
   * Handles lines that are not SSE. They are an error, or the complete answer of a server that sends no
   * content type.
   */
  #onStrayText(text: string): void {
    const isAll = this.#isEnding && this.#messages === 0;
    if (isAll && /^\s*</.test(text)) throw webPageFault();
    // The JSON may follow after other lines.
    const start = text.search(/^[ \t]*[{[]/m);
    const value = start < 0 ? undefined : parseMessage(text.slice(start));
    if (reportsError(value)) throw new ReportedFault(value);
    if (isAll && value !== undefined) this.#reader.readWholeBody(value);
  }

  #truncated(): WireFault {
    const seen = this.#messages === 0 ? 'the answer is empty' : 'the last event is missing';
    return fault('truncated_stream', seen);
  }
}

/**
 * Returns a message if the request required a call, but the complete answer does not contain the call.
 * Otherwise returns undefined.
 */
function ignoredToolChoice(
  { reason }: Stop,
  { toolChoice, tools = [], output }: ModelRequest,
  called: ReadonlySet<string | undefined>,
): string | undefined {
  const isComplete = reason === 'stop' || reason === 'tool_use';
  // With an output schema, the model may have called the output tool. This call satisfies the tool choice,
  // but the answer contains it as the output and not as a call.
  if (!isComplete || toolChoice === undefined || output !== undefined) return undefined;
  if (toolChoice === 'required' && called.size === 0 && tools.length > 0)
    return 'it ignored the tool choice: the answer has no call';
  if (typeof toolChoice === 'string' || called.has(toolChoice.name)) return undefined;
  // A name that is not in the request belongs to a tool that the provider runs.
  if (!tools.some(({ name }) => name === toolChoice.name)) return undefined;
  return `it ignored the tool choice: the answer does not call ${toolChoice.name}`;
}

const doneMarker = '[DONE]';

function isDone(data: string): boolean {
  return data === doneMarker || (data.length < 2 * doneMarker.length && data.trim() === doneMarker);
}

function isPing(event: string | undefined): boolean {
  return event !== undefined && /^(?:ping|heart-?beat|keep-?alive)$/i.test(event);
}

function webPageFault(): WireFault {
  return fault('protocol_error', 'the answer is a web page');
}

function withoutBytes(_name: string, value: unknown): unknown {
  return ArrayBuffer.isView(value) ? '' : value;
}

/** Builds the HTTP request. An error at this point means that the request can never be sent. */
function httpRequestFor(wire: Wire, { request, session }: ReaderContext): HttpRequest {
  try {
    checkRequest(request);
    return wire.http(request, session);
  } catch (error) {
    throw error instanceof WireFault
      ? error
      : faultBy(error, 'invalid_request', 'the request cannot be written');
  }
}

/** The reader that is used until the request is sent. It never reads a message. */
const unopenedReader: WireReader = {
  progress: 'reading',
  details: {},
  readMessage: () => {},
  readWholeBody: () => {},
  finish: () => ({ reason: 'unknown' }),
};
