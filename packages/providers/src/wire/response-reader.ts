import { type Delta, type DeltaWriter, type JsonValue, parseJson, type Stop } from '@millrace/core';
import type { ModelRequest } from '../contract/model-request.ts';
import type { ResponseEnd, StreamStep } from '../contract/provider.ts';
import { errorReportIn, errorReportOfFailure } from '../errors/error-report.ts';
import { fault, WireFault } from '../errors/wire-fault.ts';
import { isObject } from '../json/fields.ts';
import { parseMessage } from '../json/parse-message.ts';
import { closeParts } from '../provider/close-parts.ts';
import { Interrupted } from '../transport/failures.ts';
import { type HttpExchange, readText } from '../transport/http-exchange.ts';
import type { HttpRequest } from '../transport/http-request.ts';
import { SseReader } from '../transport/sse-reader.ts';
import type { Transport } from '../transport/transport-options.ts';
import { checkRequest } from './check-request.ts';
import { ErrorBuilder, secretsOf } from './error-builder.ts';
import { bodyLength, completeUsage, textLength } from './response-end.ts';
import { TemplateMatcher } from './template-matcher.ts';
import type { ReaderContext, Wire, WireReader } from './wire.ts';

/** From a response's bytes to its end, whichever way it goes. */
export class ResponseReader {
  readonly #wire: Wire;
  readonly #context: ReaderContext;
  readonly #writer: DeltaWriter;
  #reader: WireReader = unopenedReader;
  readonly #sse: SseReader;
  readonly #templates = new TemplateMatcher();
  readonly #maxEventLength: number;
  readonly #errors: ErrorBuilder;
  #http: HttpRequest | undefined;
  #messages = 0;
  #writtenLength = 0;
  #sawDone = false;
  #isEnding = false;

  constructor(wire: Wire, transport: Transport, context: ReaderContext) {
    this.#wire = wire;
    this.#context = context;
    this.#writer = context.writer;
    this.#maxEventLength = transport.maxEventLength;
    this.#errors = new ErrorBuilder(wire.provider, transport.clock);
    this.#sse = new SseReader({
      maxEventLength: transport.maxEventLength,
      onMessage: (data, event) => this.#onMessage(data, event),
      onStrayText: (text) => this.#onStrayText(text),
    });
  }

  /** After `[DONE]` nothing follows, be the answer complete or not. */
  get progress(): WireReader['progress'] {
    return this.#sawDone ? 'over' : this.#reader.progress;
  }

  /** Sends the request, and reads what is no stream: a failure, or an answer in one piece. */
  async open(exchange: HttpExchange): Promise<void> {
    const http = httpRequestFor(this.#wire, this.#context.request);
    this.#http = http;
    this.#reader = this.#wire.reader(this.#context);
    this.#errors.redactSecrets(secretsOf(http));
    this.#errors.sentLength = () => bodyLength(http.body);
    const response = await exchange.open(http);
    this.#errors.response = response;
    if (!response.ok) throw await readFailure(response, exchange);
    const type = response.headers.get('content-type') ?? '';
    if (/\bjson\b/i.test(type) && !/stream|ndjson/i.test(type)) await this.#readWholeBody(exchange);
    else if (/\btext\/html\b/i.test(type)) throw webPageFault();
  }

  feed(bytes: Uint8Array): void {
    this.#sse.feed(bytes);
  }

  /** The deltas since they were last taken. */
  take(): readonly Delta[] {
    const deltas = this.#writer.take();
    for (const delta of deltas) {
      if (delta.type === 'append_text') this.#writtenLength += delta.chunk.length;
    }
    return deltas;
  }

  /** The last step, after the body ended. Throws where that was too early. */
  finish(): StreamStep {
    this.#isEnding = true;
    this.#sse.end();
    if (this.#reader.progress === 'reading') throw this.#truncated();
    const stop = this.#reader.finish();
    const deltas = this.take();
    return { deltas, end: { stop, ...this.#endDetails() } };
  }

  /** The last step of a response that failed, was cut off or was stopped. */
  fail(thrown: unknown, signal: AbortSignal | undefined): StreamStep {
    const error = this.#errors.build(thrown, signal);
    const reason = error.kind === 'aborted' ? 'aborted' : 'error';
    closeParts(this.#writer, reason === 'aborted' ? 'aborted' : 'cut');
    const deltas = this.take();
    const raw = error.providerCode === undefined ? {} : { raw: error.providerCode };
    const stop: Stop = { reason, ...raw, cause: error.kind };
    return { deltas, end: { stop, ...this.#endDetails(this.#mayHaveCost(thrown)), error } };
  }

  /** A request that was refused, or never arrived, has used nothing; one that nobody waited for may have. */
  #mayHaveCost(thrown: unknown): boolean {
    const { response } = this.#errors;
    return response === undefined ? thrown instanceof Interrupted : response.ok;
  }

  #endDetails(mayHaveCost = true): Omit<ResponseEnd, 'stop'> {
    const { usage, model, responseId } = this.#reader.details;
    return {
      usage: completeUsage(usage, () => this.#sentLength(mayHaveCost), this.#writtenLength),
      ...(model === undefined ? {} : { model }),
      ...(responseId === undefined ? {} : { responseId }),
    };
  }

  #sentLength(mayHaveCost: boolean): number {
    return mayHaveCost && this.#http !== undefined ? textLength(this.#http.body) : 0;
  }

  #onMessage(data: string, event: string | undefined): void {
    // What follows the provider's own end is not of this answer.
    if (this.#reader.progress === 'over') return;
    this.#messages++;
    if (this.#templates.apply(data, event)) return;
    if (isDone(data)) {
      this.#sawDone = true;
      return;
    }
    const value = parseMessage(data);
    const report = event === 'error' ? errorReportOfFailure(value, data) : errorReportIn(value);
    if (report !== undefined) throw new WireFault(report);
    if (isObject(value)) {
      this.#reader.readMessage(value, event);
      this.#learnTemplate(data, event);
    } else if (!this.#isEnding && !isPing(event)) {
      // Where the body ended in the middle of it, `progress` tells whether that matters.
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
    const report = errorReportIn(body);
    if (report !== undefined) throw new WireFault(report);
    this.#reader.readWholeBody(body);
  }

  /** Lines that are no SSE: an error, or the whole answer of a server that names no content type. */
  #onStrayText(text: string): void {
    const isAll = this.#isEnding && this.#messages === 0;
    if (isAll && /^\s*</.test(text)) throw webPageFault();
    // Other lines may stand before it.
    const start = text.search(/^[ \t]*[{[]/m);
    const value = start < 0 ? undefined : parseMessage(text.slice(start));
    const report = errorReportIn(value);
    if (report !== undefined) throw new WireFault(report);
    if (isAll && value !== undefined) this.#reader.readWholeBody(value);
  }

  #truncated(): WireFault {
    const seen = this.#messages === 0 ? 'the answer is empty' : 'the last event is missing';
    return fault('truncated_stream', seen);
  }
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

/** What a wire cannot make a request of can never be sent. */
function httpRequestFor(wire: Wire, request: ModelRequest): HttpRequest {
  try {
    checkRequest(request);
    return wire.http(request);
  } catch (error) {
    throw error instanceof WireFault ? error : unwritableRequest(error);
  }
}

function unwritableRequest(cause: unknown): WireFault {
  const report = { message: 'the request cannot be written', codes: [] };
  return new WireFault(report, 'invalid_request', { cause });
}

const maxErrorBodyBytes = 2 ** 16;

/** How long the body of an error is waited for. The status alone tells much. */
const errorBodyMs = 5000;

/** What a response with an error status complains of. */
async function readFailure(response: Response, exchange: HttpExchange): Promise<WireFault> {
  const { status } = response;
  if (status === 0 || (status >= 300 && status < 400)) {
    return redirectFault(response);
  }
  exchange.drainFor(errorBodyMs);
  const { text } = await readText(exchange, maxErrorBodyBytes);
  const parsed = parseJson(text);
  const report = errorReportOfFailure(parsed.ok ? parsed.value : undefined, text);
  return new WireFault({ ...report, status });
}

/** The query of the target may hold anything, and is not told. */
function redirectFault({ status, headers, url }: Response): WireFault {
  const target = URL.parse(headers.get('location') ?? '', url || undefined);
  const where = target === null ? '' : ` to ${target.origin}${target.pathname}`;
  const found = `the address redirects${where} (status ${status})`;
  return fault('invalid_request', `${found}; use its target as base URL`);
}

/** Reads for a request that was not sent yet: there is nothing to be read. */
const unopenedReader: WireReader = {
  progress: 'reading',
  details: {},
  readMessage: () => {},
  readWholeBody: () => {},
  finish: () => ({ reason: 'unknown' }),
};
