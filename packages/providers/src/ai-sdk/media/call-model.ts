import type { ModelInfo } from '../../contract/model-info.ts';
import { ErrorBuilder } from '../../errors/error-builder.ts';
import { secretsOf } from '../../errors/redactor.ts';
import { fault } from '../../errors/wire-fault.ts';
import {
  completeRetries,
  type MediaTransportOptions,
  withRetries,
} from '../../media/media-client.ts';
import { knownModelInfo } from '../../models/known-traits.ts';
import { Deadlines } from '../../transport/deadlines.ts';
import { Interrupted, type Interruption } from '../../transport/failures.ts';
import { createTransport, type Transport } from '../../transport/transport-options.ts';
import { assertProviderOptions, mergeHeaders, readHeaders } from '../../wire/api-options.ts';
import { failureOf } from '../errors.ts';
import type { AiSdkOptions } from '../options.ts';

/**
 * Options for the AI SDK's models that do not chat. The provider package sends the HTTP requests itself, with
 * its own `fetch`.
 */
export interface AiSdkMediaOptions
  extends MediaTransportOptions,
    Pick<AiSdkOptions, 'headers' | 'secrets'> {}

/** The fields that all kinds of models have. */
interface NamedModel {
  readonly specificationVersion: string;
  readonly provider: string;
  readonly modelId: string;
}

/** One call to a model. */
interface AiSdkCall<Result> {
  readonly signal?: AbortSignal | undefined;
  /** Calls the model. `extras` contains the signal and the headers. */
  call(extras: CallExtras): PromiseLike<Result>;
}

interface CallExtras {
  readonly abortSignal: AbortSignal;
  readonly headers?: Record<string, string>;
}

/** Calls a model of the AI SDK. The limits, timeouts, retries and errors are those of this package. */
export interface AiSdkCaller {
  readonly provider: string;
  readonly model: string;
  readonly info: ModelInfo;
  /**
   * Calls the model and converts its result with `read`. Throws a `ProviderError`. `read` can throw
   * a `WireFault` if the result cannot be used.
   */
  call<Result, Answer>(call: AiSdkCall<Result>, read: (result: Result) => Answer): Promise<Answer>;
}

/**
 * Creates the `AiSdkCaller` for a model from its options. Throws a `ProviderError` if an option is unknown.
 */
export function aiSdkCaller(
  of: string,
  { specificationVersion, provider, modelId }: NamedModel,
  options: AiSdkMediaOptions,
): AiSdkCaller {
  assertProviderOptions(of, options, {
    ...{ headers: true, secrets: true, clock: true, timeouts: true, retry: true },
    ...{ maxConcurrentRequests: true, models: true, info: true },
  });
  const transport = createTransport(options);
  const retries = completeRetries(options.retry ?? {});
  // The list can contain undefined, if the caller passes an environment variable that is not set.
  const secrets = options.secrets?.filter((secret) => typeof secret === 'string') ?? [];
  const attempt = async <Result, Answer>(
    { signal, call }: AiSdkCall<Result>,
    read: (result: Result) => Answer,
  ): Promise<Answer> => {
    const errors = new ErrorBuilder(provider, transport.clock);
    let isAnswered = false;
    try {
      errors.redactSecrets(secrets);
      checkVersion(specificationVersion);
      const headers = mergeHeaders(readHeaders(options.headers));
      errors.redactSecrets(secretsOf({ url: '', headers, secrets }));
      const sent = Object.keys(headers).length === 0 ? {} : { headers };
      const result = await interruptible(transport, signal, (abortSignal) =>
        call({ abortSignal, ...sent }),
      );
      isAnswered = true;
      return read(result);
    } catch (error) {
      const failure = failureOf(error, isAnswered);
      errors.response = failure.response;
      throw errors.build(failure.error, signal);
    }
  };
  return {
    provider,
    model: modelId,
    info: knownModelInfo(provider, modelId, options),
    call: (call, read) =>
      withRetries({ provider, transport, retries, signal: call.signal }, () => attempt(call, read)),
  };
}

function checkVersion(version: string): void {
  if (version === 'v4' || version === 'v3') return;
  const found = `the model implements version ${String(version)} of the interface`;
  throw fault('invalid_request', `${found}; use a package that implements v3 or v4`);
}

/** Calls a model that may ignore its signal. Throws `Interrupted` on an abort or a timeout. */
async function interruptible<Result>(
  { clock, timeouts }: Transport,
  signal: AbortSignal | undefined,
  call: (signal: AbortSignal) => PromiseLike<Result>,
): Promise<Result> {
  const controller = new AbortController();
  const { promise: interrupted, reject } = Promise.withResolvers<never>();
  const interrupt = (interruption: Interruption) => {
    reject(new Interrupted(interruption));
    controller.abort();
  };
  const onAbort = () => interrupt({ by: 'signal', reason: signal?.reason });
  // The answer arrives in one piece, so only two deadlines apply: for the first byte and for the total time.
  const deadlines = new Deadlines(clock, timeouts, (deadline, afterMs) =>
    interrupt({ by: 'deadline', deadline, afterMs }),
  );
  signal?.addEventListener('abort', onAbort);
  if (signal?.aborted) onAbort();
  try {
    return await Promise.race([
      interrupted,
      controller.signal.aborted ? interrupted : call(controller.signal),
    ]);
  } finally {
    deadlines.end();
    signal?.removeEventListener('abort', onAbort);
  }
}
