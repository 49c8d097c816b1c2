import type { LanguageModelV4CallOptions } from '@ai-sdk/provider';
import { type Delta, DeltaWriter, type Usage } from '@millrace/core';
import type { ModelRequest } from '../contract/model-request.ts';
import type { Provider, ResponseEnd, StreamContext, StreamStep } from '../contract/provider.ts';
import { leavable, stoppedBy } from '../provider/abort-on-return.ts';
import { closeParts } from '../provider/close-parts.ts';
import { createProvider } from '../provider/create-provider.ts';
import type { Clock } from '../transport/clock.ts';
import { createTransport, type Transport } from '../transport/transport-options.ts';
import { mergeHeaders } from '../wire/api-options.ts';
import { FailureReport, secretsOf } from '../wire/error-builder.ts';
import { bodyLength, completeUsage, textLength } from '../wire/response-end.ts';
import { failureOf, headersOf } from './errors.ts';
import { type AiSdkModel, askModel, type StreamPart, type StreamResult } from './model.ts';
import { ModelStream } from './model-stream.ts';
import type { AiSdkOptions, CallExtras } from './options.ts';
import { callOptions } from './request.ts';
import { type PartsContext, PartsReader } from './stream.ts';
import { completedUsage } from './usage.ts';

/**
 * Any model of the AI SDK's provider packages: Bedrock, Cohere, and the rest.
 *
 * @example
 * const provider = fromAiSdk(bedrock('anthropic.claude-sonnet-4-5'));
 */
export function fromAiSdk(model: AiSdkModel, options: AiSdkOptions = {}): Provider {
  const bridge = {
    model,
    extras: options,
    transport: createTransport(options),
    // From a variable that is not set comes none.
    secrets: options.secrets?.filter((secret) => typeof secret === 'string') ?? [],
  };
  return createProvider(model.provider, model.modelId, (request, context) =>
    leavable((left) => streamModel(bridge, request, stoppedBy(context, left))),
  );
}

/** A model, and what all calls of it have in common. */
interface Bridge {
  readonly model: AiSdkModel;
  readonly extras: CallExtras;
  readonly transport: Transport;
  readonly secrets: readonly string[];
}

/** How long an answer that is complete is read on, for the stream's end. */
const streamEndMs = 50;

async function* streamModel(
  { model, extras, transport, secrets }: Bridge,
  request: ModelRequest,
  { item, ids, signal }: StreamContext,
): AsyncGenerator<StreamStep> {
  const { id: itemId, turn, attempt } = item;
  const writer = new DeltaWriter({ itemId, turn, attempt, ids, limits: transport.limits });
  const owner = { provider: model.provider, model: model.modelId };
  const reading = new ModelReading({ ...owner, writer, ids, request }, transport.clock);
  reading.keep(secrets);
  let leave = () => {};
  let stream: ModelStream | undefined;
  let end: ResponseEnd;
  try {
    leave = await transport.gate.enter(signal);
    // It may have been stopped in the moment in which its turn came.
    signal?.throwIfAborted();
    stream = new ModelStream({ ...transport, signal, onInterrupted: leave });
    const options = callOptions(request, owner, extras);
    reading.asked(options, secrets);
    reading.opened(
      await stream.open((abortSignal) => askModel(model, { ...options, abortSignal })),
    );
    for (;;) {
      const parts = await stream.read();
      if (parts.length === 0) break;
      const wasFinished = reading.isFinished;
      reading.feed(parts);
      if (reading.isFinished && !wasFinished) stream.linger(streamEndMs);
      const deltas = reading.take();
      if (deltas.length > 0) yield { deltas };
    }
    end = reading.finish();
  } catch (error) {
    end = reading.fail(error, signal);
  } finally {
    stream?.close();
    leave();
  }
  yield { deltas: reading.take(), end };
}

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
