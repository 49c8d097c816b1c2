import { basename } from 'node:path';
import { type Clock, createProvider, type ModelRequest, type Provider } from '@millrace/providers';
import { type ScriptedResponse, scriptedProvider } from '@millrace/providers/scripted';
import { demoAnswer } from './demo-answer.ts';

export interface DemoOptions {
  /** The folder that the demo describes. The demo reads it with the tools of the agent. */
  readonly cwd?: string | undefined;
  readonly clock?: Clock | undefined;
  /** Pause between two tokens. Default: 16 ms. Tests use 0. */
  readonly pauseMs?: number | undefined;
}

/**
 * A scripted model for users without an API key. It works with the real agent loop and the real
 * tools, and uses no network. Its answers depend only on the request, so they are always the same.
 */
export function demoProvider(options: DemoOptions = {}): Provider {
  const folder = options.cwd === undefined ? 'this folder' : basename(options.cwd) || options.cwd;
  return tokenStreamProvider(
    (request, ids) => ({ content: { parts: demoAnswer(request, { folder, ids }) } }),
    options,
  );
}

type ResponseSource = (
  request: ModelRequest,
  ids: Parameters<Provider['stream']>[1]['ids'],
) => ScriptedResponse;

/** Creates a provider that streams scripted responses token by token, with pauses. */
export function tokenStreamProvider(speech: ResponseSource, options: DemoOptions = {}): Provider {
  const { clock, pauseMs = 16 } = options;
  const how = { id: 'demo', model: 'demo', pieces: 'token', pauseMs, clock } as const;
  const stream: Provider['stream'] = (request, context) =>
    scriptedProvider(
      [() => ({ usage: estimateUsage(request), ...speech(request, context.ids) })],
      how,
    ).stream(request, context);
  // The demo is free, so it has no prices and reports no cost.
  return createProvider('demo', 'demo', stream, undefined, { prices: 'reported' });
}

/** Estimates the usage with four characters per token. */
function estimateUsage({ items }: ModelRequest) {
  const texts = items.flatMap(({ parts }) =>
    parts.map((part) => ('text' in part ? part.text : '')),
  );
  const length = texts.reduce((sum, text) => sum + text.length, 0);
  return { input: Math.ceil(length / 4), estimated: true };
}
