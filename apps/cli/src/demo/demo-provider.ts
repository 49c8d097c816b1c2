import { basename } from 'node:path';
import { type Clock, createProvider, type ModelRequest, type Provider } from '@millrace/providers';
import { type ScriptedResponse, scriptedProvider } from '@millrace/providers/scripted';
import { demoAnswer } from './demo-answer.ts';

export interface DemoOptions {
  /** The folder that it looks around in; its tools are the agent's. */
  readonly cwd?: string | undefined;
  readonly clock?: Clock | undefined;
  /** Between two pieces of a word. Nothing, for tests that do not wait. */
  readonly pauseMs?: number | undefined;
}

/**
 * The model for whoever has none: a script that drives the real loop and the real tools, says the same
 * each time, and touches no network. It knows what to say from the request alone.
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

/** Says what it is told to, token by token, as fast as one can read. */
export function tokenStreamProvider(speech: ResponseSource, options: DemoOptions = {}): Provider {
  const { clock, pauseMs = 16 } = options;
  const how = { id: 'demo', model: 'demo', pieces: 'token', pauseMs, clock } as const;
  return createProvider('demo', 'demo', (request, context) =>
    scriptedProvider(
      [() => ({ usage: estimateUsage(request), ...speech(request, context.ids) })],
      how,
    ).stream(request, context),
  );
}

/** Nobody counts its tokens, so they are reckoned: some four characters each. */
function estimateUsage({ items }: ModelRequest) {
  const texts = items.flatMap(({ parts }) =>
    parts.map((part) => ('text' in part ? part.text : '')),
  );
  const length = texts.reduce((sum, text) => sum + text.length, 0);
  return { input: Math.ceil(length / 4), estimated: true };
}
