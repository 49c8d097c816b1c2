import type { LanguageModelV4CallOptions } from '@ai-sdk/provider';
import type { Delta, Usage } from '@millrace/core';
import type { ResponseEnd } from '../contract/provider.ts';
import type { Clock } from '../transport/clock.ts';
import { bodyLength, textLength } from '../wire/body-length.ts';
import { closeParts } from '../wire/close-parts.ts';
import { FailureReport } from '../wire/failure-report.ts';
import { mergeHeaders } from '../wire/merge-headers.ts';
import { completeUsage } from '../wire/reckon-usage.ts';
import { secretsOf } from '../wire/secrets-of.ts';
import { failureOf } from './errors.ts';
import type { StreamPart, StreamResult } from './model.ts';
import { headersOf } from './response-of.ts';
import { type PartsContext, PartsReader } from './stream.ts';
import { completedUsage } from './usage.ts';

/** From the parts of a response to its end, whichever way it goes. */
export class ModelReading {
  readonly #context: PartsContext;
  readonly #reader: PartsReader;
  readonly #report: FailureReport;
  #asked: LanguageModelV4CallOptions | undefined;
  #deltas: readonly Delta[] = [];
  #writtenLength = 0;

  constructor(context: PartsContext, clock: Clock) {
    this.#context = context;
    this.#reader = new PartsReader(context);
    this.#report = new FailureReport(context.provider, clock);
  }

  get isFinished(): boolean {
    return this.#reader.isFinished;
  }

  /** Keeps them out of every error. */
  keep(secrets: readonly string[]): void {
    this.#report.keep(secrets);
  }

  /** The headers may have secrets too. */
  asked(options: LanguageModelV4CallOptions, secrets: readonly string[]): void {
    this.#asked = options;
    this.#report.sentLength = () => lengthOf(options);
    this.#report.sentLength = () => bodyLength(options.prompt);
    const headers = mergeHeaders(options.headers ?? {});
    this.keep(secretsOf({ url: '', headers, body: {}, secrets }));
  }

  opened({ response }: StreamResult): void {
    this.#report.response = new Response(null, { headers: headersOf(response?.headers) });
  }

  feed(parts: readonly StreamPart[]): void {
    for (const part of parts) this.#reader.part(part);
  }

  /** The deltas since they were last taken. */
  take(): readonly Delta[] {
    this.#collect();
    const taken = this.#deltas;
    this.#deltas = [];
    return taken;
  }

  /** The stream is over. Throws where that was too early. */
  finish(): ResponseEnd {
    const stop = this.#reader.finish();
    return { stop, ...this.#about() };
  }

  /** The end of a response that failed, was cut off or was stopped. */
  fail(thrown: unknown, signal: AbortSignal | undefined): ResponseEnd {
    const isStopped = signal?.aborted && thrown === signal.reason;
    const isAnswered = this.#report.response !== undefined;
    const failure = isStopped ? { error: thrown } : failureOf(thrown, isAnswered);
    this.#report.response = failure.response ?? this.#report.response;
    const error = this.#report.errorOf(failure.error, signal);
    const reason = error.kind === 'aborted' ? 'aborted' : 'error';
    closeParts(this.#context.writer, reason === 'aborted' ? 'aborted' : 'cut');
    const raw = error.providerCode === undefined ? {} : { raw: error.providerCode };
    return { stop: { reason, ...raw, cause: error.kind }, ...this.#about(), error };
  }

  #about(): Omit<ResponseEnd, 'stop'> {
    const { usage, model, responseId } = this.#reader;
    return {
      usage: completedUsage(usage, () => this.#reckon()),
      ...(model === undefined ? {} : { model }),
      ...(responseId === undefined ? {} : { responseId }),
    };
  }

  #reckon(): Usage {
    this.#collect();
    return completeUsage(undefined, () => lengthOf(this.#asked), this.#writtenLength);
  }

  #collect(): void {
    const written = this.#context.writer.take();
    for (const delta of written) {
      if (delta.type === 'append_text') this.#writtenLength += delta.chunk.length;
    }
    this.#deltas = this.#deltas.length === 0 ? written : [...this.#deltas, ...written];
  }
}

/** In UTF-16 units of JSON; 0 where nothing was asked. */
function lengthOf(options: LanguageModelV4CallOptions | undefined): number {
  if (options === undefined) return 0;
  const { prompt, tools = [] } = options;
  return textLength({ prompt, tools });
}
