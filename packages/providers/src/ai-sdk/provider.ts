import type { LanguageModelV4CallOptions } from '@ai-sdk/provider';
import { type Delta, DeltaWriter, type Usage } from '@millrace/core';
import { toDetails } from '../answer/reported-details.ts';
import type { ModelInfo } from '../contract/model-info.ts';
import type { ModelRequest } from '../contract/model-request.ts';
import type { Provider, ResponseEnd, StreamContext, StreamStep } from '../contract/provider.ts';
import { ErrorBuilder } from '../errors/error-builder.ts';
import { Redactor, secretsOf } from '../errors/redactor.ts';
import { withCost } from '../models/cost-of.ts';
import { knownModelInfo } from '../models/known-traits.ts';
import { abortOnReturn, withAbortSignal } from '../provider/abort-on-return.ts';
import { closeParts } from '../provider/close-parts.ts';
import { providerOf } from '../provider/create-provider.ts';
import type { Clock } from '../transport/clock.ts';
import { createTransport, type Transport } from '../transport/transport-options.ts';
import { assertProviderOptions, mergeHeaders } from '../wire/api-options.ts';
import { bodyLength, completeUsage, textLength } from '../wire/response-end.ts';
import { failureOf, toHeaders } from './errors.ts';
import { type AiSdkModel, callModel, type StreamPart, type StreamResult } from './model.ts';
import { ModelStream } from './model-stream.ts';
import type { AiSdkOptions, CallExtras } from './options.ts';
import { callOptions } from './request.ts';
import { type PartsContext, PartsReader } from './stream.ts';
import { completedUsage } from './usage.ts';

/**
 * Creates a provider from a model of any AI SDK provider package, such as Bedrock or Cohere.
 *
 * @example
 * const provider = fromAiSdk(bedrock('anthropic.claude-sonnet-4-5'));
 */
export function fromAiSdk(model: AiSdkModel, options: AiSdkOptions = {}): Provider {
  assertProviderOptions('fromAiSdk', options, {
    ...{ headers: true, providerTools: true, models: true, info: true, secrets: true },
    ...{ clock: true, timeouts: true, maxConcurrentRequests: true, limits: true },
  });
  const info = knownModelInfo(model.provider, model.modelId, options);
  const binding = {
    model,
    info,
    extras: options,
    transport: createTransport(options),
    // The list can contain undefined, if the caller passes an environment variable that is not set.
    secrets: options.secrets?.filter((secret) => typeof secret === 'string') ?? [],
  };
  return providerOf(
    model.provider,
    model.modelId,
    (request, context) =>
      abortOnReturn((returned) =>
        streamFromModel(binding, request, withAbortSignal(context, returned)),
      ),
    undefined,
    info,
  );
}

/** A model, with the settings for all calls to it. */
interface ModelBinding {
  readonly model: AiSdkModel;
  readonly info: ModelInfo;
  readonly extras: CallExtras;
  readonly transport: Transport;
  readonly secrets: readonly string[];
}

/** The time to wait for the end of the stream after the answer is complete, in milliseconds. */
const streamEndMs = 50;

async function* streamFromModel(
  { model, info, extras, transport, secrets }: ModelBinding,
  request: ModelRequest,
  { item, ids, session, signal }: StreamContext,
): AsyncGenerator<StreamStep> {
  const { id: itemId, turn, attempt } = item;
  const writer = new DeltaWriter({ itemId, turn, attempt, ids, limits: transport.limits });
  const owner = { provider: model.provider, model: model.modelId, session };
  const reading = new ModelResponseReader({ ...owner, writer, ids, request }, transport.clock);
  reading.redactSecrets(secrets);
  let release = () => {};
  let stream: ModelStream | undefined;
  let end: ResponseEnd;
  try {
    release = await transport.semaphore.acquire(signal);
    // The signal may abort while the request waits in the queue.
    signal?.throwIfAborted();
    stream = new ModelStream({ ...transport, signal, onInterrupted: release });
    const options = callOptions(request, owner, extras);
    reading.setRequest(options, secrets);
    reading.setResponse(
      await stream.open((abortSignal) => callModel(model, { ...options, abortSignal })),
    );
    for (;;) {
      const parts = await stream.read();
      if (parts.length === 0) break;
      const wasFinished = reading.isFinished;
      reading.feed(parts);
      if (reading.isFinished && !wasFinished) stream.drainFor(streamEndMs);
      const deltas = reading.take();
      if (deltas.length > 0) yield { deltas };
    }
    end = reading.finish();
  } catch (error) {
    end = reading.fail(error, signal);
  } finally {
    stream?.close();
    release();
  }
  const usage = withCost(end.usage, info.prices);
  yield { deltas: reading.take(), end: { ...end, usage } };
}

/** Reads one response from its first part to its end, including failures. */
class ModelResponseReader {
  readonly #context: PartsContext;
  readonly #reader: PartsReader;
  readonly #errors: ErrorBuilder;
  #request: LanguageModelV4CallOptions | undefined;
  #redactor = new Redactor([]);
  #deltas: readonly Delta[] = [];
  #writtenLength = 0;

  constructor(context: PartsContext, clock: Clock) {
    this.#context = context;
    this.#reader = new PartsReader(context);
    this.#errors = new ErrorBuilder(context.provider, clock);
  }

  get isFinished(): boolean {
    return this.#reader.isFinished;
  }

  /** Sets the values that are removed from errors, and from everything that is not the text of the answer. */
  redactSecrets(secrets: readonly string[]): void {
    this.#errors.redactSecrets(secrets);
    this.#redactor = new Redactor(secrets);
  }

  /**
   * Sets the options of the call. Must be called before the request is sent, because custom headers can
   * contain secrets that errors must not show.
   */
  setRequest(options: LanguageModelV4CallOptions, secrets: readonly string[]): void {
    this.#request = options;
    this.#errors.sentLength = () => bodyLength(options.prompt);
    const headers = mergeHeaders(options.headers ?? {});
    this.redactSecrets(secretsOf({ url: '', headers, secrets }));
  }

  setResponse({ response }: StreamResult): void {
    this.#errors.response = new Response(null, { headers: toHeaders(response?.headers) });
  }

  feed(parts: readonly StreamPart[]): void {
    for (const part of parts) this.#reader.part(part);
  }

  /** Returns the deltas that were written since the last call of `take`. */
  take(): readonly Delta[] {
    this.#collect();
    const taken = this.#deltas;
    this.#deltas = [];
    return this.#redactor.deltas(taken);
  }

  /**
   * Returns the end of the response. Call it after the stream has ended. Throws if the answer is not
   * complete.
   */
  finish(): ResponseEnd {
    const stop = this.#redactor.json(this.#reader.finish());
    return { stop, ...this.#endDetails() };
  }

  /** Returns the end of a response that failed, was cut off or was aborted. */
  fail(thrown: unknown, signal: AbortSignal | undefined): ResponseEnd {
    const isStopped = signal?.aborted && thrown === signal.reason;
    const isAnswered = this.#errors.response !== undefined;
    const failure = isStopped ? { error: thrown } : failureOf(thrown, isAnswered);
    this.#errors.response = failure.response ?? this.#errors.response;
    const error = this.#errors.build(failure.error, signal);
    const reason = error.kind === 'aborted' ? 'aborted' : 'error';
    closeParts(this.#context.writer, reason === 'aborted' ? 'aborted' : 'cut');
    const raw = error.providerCode === undefined ? {} : { raw: error.providerCode };
    return { stop: { reason, ...raw, cause: error.kind }, ...this.#endDetails(), error };
  }

  #endDetails(): Omit<ResponseEnd, 'stop'> {
    const { usage, model, responseId, metadata } = this.#reported();
    const details = toDetails({ model, responseId, other: metadata });
    return {
      usage: completedUsage(usage, () => this.#estimate()),
      ...(model === undefined ? {} : { model }),
      ...(responseId === undefined ? {} : { responseId }),
      ...(details === undefined ? {} : { details }),
    };
  }

  /** Keys are removed before the texts are cut, because a part of a key could remain. */
  #reported(): Pick<PartsReader, 'usage' | 'model' | 'responseId' | 'metadata'> {
    const { usage, model, responseId, metadata } = this.#reader;
    return this.#redactor.json({ usage, model, responseId, metadata });
  }

  #estimate(): Usage {
    this.#collect();
    return completeUsage(undefined, () => promptLength(this.#request), this.#writtenLength);
  }

  #collect(): void {
    const written = this.#context.writer.take();
    for (const delta of written) {
      if (delta.type === 'append_text') this.#writtenLength += delta.chunk.length;
    }
    this.#deltas = this.#deltas.length === 0 ? written : [...this.#deltas, ...written];
  }
}

/**
 * Returns the length of the prompt and the tools as JSON, in UTF-16 units. Returns 0 if no request was sent.
 */
function promptLength(options: LanguageModelV4CallOptions | undefined): number {
  if (options === undefined) return 0;
  const { prompt, tools = [] } = options;
  return textLength({ prompt, tools });
}
