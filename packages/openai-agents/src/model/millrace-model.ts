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
import { toModelRequest } from '../request/to-model-request.ts';
import { toResponse } from '../response/to-response.ts';
import { Answer } from './answer.ts';
import { failureOf, retryAdvice } from './model-failure.ts';
import { StreamEvents } from './stream-events.ts';
import { StepRelay, type TurnStream } from './turn-stream.ts';

export interface MillraceModelOptions {
  readonly stream?: TurnStream | undefined;
  readonly ids?: Ids | undefined;
}

/** A provider of Millrace as a model of the SDK. Streaming is the only path: who does not watch gets its end. */
export class MillraceModel implements Model {
  readonly #provider: Pick<Provider, 'id' | 'stream'>;
  readonly #stream: TurnStream | undefined;
  readonly #ids: Ids;

  constructor(provider: Pick<Provider, 'id' | 'stream'>, options: MillraceModelOptions = {}) {
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
    throw new TypeError('Cannot find the end of a stream that ended');
  }

  async *getStreamedResponse(request: ModelRequest): AsyncGenerator<StreamEvent> {
    const item = { id: this.#ids.item(), turn: 1, attempt: 1 };
    const context: StreamContext = { item, ids: this.#ids, signal: request.signal };
    const steps = this.#provider.stream(toModelRequest(request), context);
    const answer = new Answer(this.#provider.id, item);
    const events = new StreamEvents(answer);
    let end: ResponseEnd | undefined;
    yield { type: 'response_started' };
    const stream = this.#stream;
    for await (const step of stream === undefined ? steps : told(steps, request, stream)) {
      for (const delta of step.deltas) {
        answer.add(delta);
        // Not `yield*`: in an async generator that costs four more promises for each piece.
        for (const event of events.of(delta)) yield event;
      }
      end = step.end;
    }
    if (end === undefined) throw answer.broken('there is no end step');
    answer.assertClosed();
    const failure = failureOf(end, answer.parts);
    if (failure !== undefined) throw failure;
    yield { type: 'response_done', response: toResponse(answer.parts, end, item.id) };
  }

  getRetryAdvice({ error }: { readonly error: unknown }): ModelRetryAdvice | undefined {
    return retryAdvice(error);
  }
}

/** The steps, each after it is told to whoever else listens. */
async function* told(
  steps: AsyncIterable<StreamStep>,
  request: ModelRequest,
  stream: TurnStream,
): AsyncGenerator<StreamStep> {
  const relay = new StepRelay();
  const handoffs = new Set(request.handoffs.map(({ toolName }) => toolName));
  const sent = stream.send(relay, handoffs);
  const leave = () => relay.leave();
  sent.then(leave, leave);
  let end: ResponseEnd | undefined;
  try {
    for await (const step of steps) {
      await relay.push(step);
      end = step.end;
      if (relay.isLeft && end === undefined) break;
      yield step;
    }
  } finally {
    relay.close(end === undefined ? new DOMException('Left', 'AbortError') : undefined);
  }
  // An answer that failed is no failure of those who keep it: its end says so.
  if (end?.error === undefined) await sent;
  else await sent.catch(() => {});
}

export interface MillraceModelsOptions extends MillraceModelOptions, NamedProviders {}

/**
 * Millrace's providers as the SDK's models: `new Runner({ modelProvider: millraceModels({ provider }) })`.
 * With `stream: runHooks(context)` what the models say also goes to a task as they say it.
 */
export function millraceModels(options: MillraceModelsOptions): ModelProvider {
  const { provider, providers, ...rest } = options;
  return {
    getModel: (name) => new MillraceModel(providerNamed({ provider, providers }, name), rest),
  };
}

export interface NamedProviders {
  /** For agents that name no model, or this one's. */
  readonly provider?: Provider | undefined;
  /** By the names that agents call them. */
  readonly providers?: Readonly<Record<string, Provider>> | undefined;
}

/** The provider that an agent means. */
export function providerNamed(
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
  const way = name ? 'Add it to `providers`' : 'Give one as `provider`, or the agent a `model`';
  return new UserError(`${asked}. There are: ${known.join(', ') || 'none'}. ${way}`);
}
