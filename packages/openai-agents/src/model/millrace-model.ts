import { type Ids, randomIds } from '@millrace/core';
import type { Provider, ResponseEnd, StreamContext, StreamStep } from '@millrace/providers';
import {
  type Model,
  type ModelProvider,
  type ModelRequest,
  type ModelResponse,
  type ModelRetryAdvice,
  type StreamEvent,
  Usage,
  type UsageInput,
  UserError,
} from '@openai/agents';
import { assertKnownOptions } from '../known-options.ts';
import { toModelRequest } from '../request/to-model-request.ts';
import { toResponse } from '../response/to-response.ts';
import { FoldedAnswer } from './answer.ts';
import { retryAdvice, toSdkError } from './model-failure.ts';
import { StreamEvents } from './stream-events.ts';
import { StepRelay, type TurnStream } from './turn-stream.ts';

/** Options of a `MillraceModel`. */
export interface MillraceModelOptions {
  /** A second receiver of the answers, in addition to the SDK. Default: none. */
  readonly stream?: TurnStream | undefined;
  /** Source of item ids. Default: random ids. */
  readonly ids?: Ids | undefined;
}

/**
 * A Millrace provider as a model of the SDK. Both methods read the provider's stream, but `getResponse`
 * returns only the complete answer.
 */
export class MillraceModel implements Model {
  readonly #provider: Pick<Provider, 'id' | 'stream'>;
  readonly #stream: TurnStream | undefined;
  readonly #ids: Ids;

  constructor(provider: Pick<Provider, 'id' | 'stream'>, options: MillraceModelOptions = {}) {
    assertKnownOptions('MillraceModel', options, { stream: true, ids: true });
    const { stream, ids = randomIds((bytes) => crypto.getRandomValues(bytes)) } = options;
    this.#provider = provider;
    this.#stream = stream;
    this.#ids = ids;
  }

  async getResponse(request: ModelRequest): Promise<ModelResponse> {
    for await (const event of this.getStreamedResponse(request)) {
      if (event.type !== 'response_done') continue;
      const { id, usage, output, rawUsage, providerData } = event.response;
      return {
        ...{ responseId: id, output, usage: new Usage(usage as UsageInput) },
        ...(providerData && { providerData }),
        ...(request.modelSettings.preserveRawUsage && rawUsage && { rawUsage }),
      };
    }
    throw new TypeError('The stream ended without a response_done event');
  }

  async *getStreamedResponse(request: ModelRequest): AsyncGenerator<StreamEvent> {
    const item = { id: this.#ids.item(), turn: 1, attempt: 1 };
    const context: StreamContext = { item, ids: this.#ids, signal: request.signal };
    const steps = this.#provider.stream(toModelRequest(request, this.#provider.id), context);
    const answer = new FoldedAnswer(this.#provider.id, item);
    const events = new StreamEvents(answer);
    let end: ResponseEnd | undefined;
    yield { type: 'response_started' };
    const stream = this.#stream;
    for await (const step of stream === undefined ? steps : forwardSteps(steps, request, stream)) {
      for (const delta of step.deltas) {
        answer.add(delta);
        // The code does not use `yield*`, because in an async generator it creates four more promises per
        // event.
        for (const event of events.convert(delta)) yield event;
      }
      end = step.end;
    }
    if (end === undefined) throw answer.protocolError('there is no end step');
    answer.assertClosed();
    const failure = toSdkError(end, answer.parts);
    if (failure !== undefined) throw failure;
    yield { type: 'response_done', response: toResponse(answer.parts, end, item.id) };
  }

  getRetryAdvice({ error }: { readonly error: unknown }): ModelRetryAdvice | undefined {
    return retryAdvice(error);
  }
}

/** Sends each step to `stream`, and then yields it. */
async function* forwardSteps(
  steps: AsyncIterable<StreamStep>,
  request: ModelRequest,
  stream: TurnStream,
): AsyncGenerator<StreamStep> {
  const relay = new StepRelay();
  const handoffs = new Set(request.handoffs.map(({ toolName }) => toolName));
  const sent = stream.send(relay, handoffs);
  const leave = () => relay.readerLeft();
  sent.then(leave, leave);
  let end: ResponseEnd | undefined;
  try {
    for await (const step of steps) {
      await relay.push(step);
      end = step.end;
      if (relay.hasReaderLeft && end === undefined) break;
      yield step;
    }
  } finally {
    relay.close(end === undefined ? new DOMException('Left', 'AbortError') : undefined);
  }
  // If the answer failed, the end step already contains the error, so an error of `stream.send` is ignored.
  if (end?.error === undefined) await sent;
  else await sent.catch(() => {});
}

/** Options of `millraceModels`. */
export interface MillraceModelsOptions extends MillraceModelOptions, NamedProviders {}

/**
 * Creates the SDK's models from Millrace providers, for example for `new Runner({ modelProvider:
 * millraceModels({ provider }) })`. With `stream: runHooks(context)`, the answers are also streamed to a
 * task.
 */
export function millraceModels(options: MillraceModelsOptions): ModelProvider {
  assertKnownOptions('millraceModels', options, {
    ...{ provider: true, providers: true, stream: true, ids: true },
  });
  const { provider, providers, ...rest } = options;
  return {
    getModel: (name) => new MillraceModel(findProvider({ provider, providers }, name), rest),
  };
}

export interface NamedProviders {
  /**
   * The provider for agents without a model, or with the name of this provider's model. Default: none.
   */
  readonly provider?: Provider | undefined;
  /** Providers by the model names that agents use. Default: none. */
  readonly providers?: Readonly<Record<string, Provider>> | undefined;
}

/** Returns the provider for the model name of an agent. Throws if there is no such provider. */
export function findProvider(
  { provider, providers = {} }: NamedProviders,
  name: string | undefined,
): Provider {
  const isOwn = !name || name === provider?.model;
  const named = !isOwn && Object.hasOwn(providers, name) ? providers[name] : undefined;
  const found = isOwn ? provider : named;
  if (found === undefined) throw unknownModel(name, { provider, providers });
  return found;
}

function unknownModel(
  name: string | undefined,
  { provider, providers = {} }: NamedProviders,
): UserError {
  const known = [...(provider ? [provider.model] : []), ...Object.keys(providers)];
  const asked = name ? `There is no model “${name}”` : 'The agent names no model';
  const way = name ? 'Add it to `providers`' : 'Set `provider`, or a `model` on the agent';
  return new UserError(`${asked}. There are: ${known.join(', ') || 'none'}. ${way}`);
}
