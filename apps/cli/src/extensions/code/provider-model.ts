import type { ProviderChunk } from '@millrace/tools/extension';
import type { ModelConfig } from '../../contract/config.ts';
import type { Env } from '../../contract/host.ts';
import type { Registered } from './extension-messages.ts';
import { ExtensionError, type ExtensionProcess } from './extension-process.ts';

/** The longest time for an answer. A silent answer ends earlier, with the idle timeout of the provider. */
const answerMs = 3_600_000;
/** No request reaches this address. The name `invalid` never exists. */
const baseUrl = 'http://extension.invalid/v1';

/**
 * Returns a model whose requests an extension sends. The requests and answers have the form of the Chat
 * Completions API, so that retries, time limits and errors work as with a server.
 */
export function providerModel(
  process: ExtensionProcess,
  { name, keyVariable, ...limits }: Registered['providers'][number],
  env: Env,
): ModelConfig {
  const key = keyVariable === undefined ? undefined : env[keyVariable];
  return {
    ...{ provider: 'compatible', model: name, baseUrl, ...limits },
    // The server can repeat the key in its errors.
    ...(key && { secrets: [key] }),
    fetch: (url, { body, signal } = {}) => {
      if (!String(url).endsWith('/chat/completions'))
        return Promise.resolve(errorResponse('An extension has no such endpoint', 404));
      const request = JSON.parse(String(body)) as Readonly<Record<string, unknown>>;
      const { stream: _, stream_options: __, model: ___, ...input } = request;
      return answer(process, { name, input, key, signal: signal ?? undefined });
    },
  };
}

interface Request {
  readonly name: string;
  readonly input: unknown;
  readonly key: string | undefined;
  readonly signal: AbortSignal | undefined;
}

/** Sends a request to the extension. Resolves with the first chunk, the end or the error of the answer. */
function answer(
  process: ExtensionProcess,
  { name, input, key, signal }: Request,
): Promise<Response> {
  const { promise, resolve, reject } = Promise.withResolvers<Response>();
  const events = new ChatEvents();
  // The reader of the answer can stop, even without the signal of the request.
  const stopped = new AbortController();
  const ends = AbortSignal.any([stopped.signal, ...(signal === undefined ? [] : [signal])]);
  let isOpen = false;
  const body = new ReadableStream<Uint8Array>({
    cancel: (reason) => stopped.abort(reason),
    start(controller) {
      const encoder = new TextEncoder();
      const send = (text: string) => controller.enqueue(encoder.encode(text));
      const open = () => {
        if (isOpen) return;
        isOpen = true;
        resolve(new Response(body, { headers: { 'content-type': 'text/event-stream' } }));
      };
      const onChunk = (chunk: ProviderChunk) => {
        open();
        send(events.chunk(chunk));
      };
      const call = { kind: 'provider', name, input, key } as const;
      process.call(call, { timeoutMs: answerMs, signal: ends, onChunk }).then(
        () => {
          open();
          send(events.end());
          controller.close();
        },
        (error: unknown) => {
          if (ends.aborted) {
            reject(error as Error);
            return controller.error(error);
          }
          const problem = error instanceof Error ? error.message : String(error);
          const status = error instanceof ExtensionError ? error.status : undefined;
          resolve(errorResponse(problem, status ?? 500));
          if (isOpen) send(dataLine({ error: { message: problem, code: status ?? 500 } }));
          controller.close();
        },
      );
    },
  });
  return promise;
}

/** Converts chunks to the events of the Chat Completions API. */
class ChatEvents {
  #calls = 0;
  #stop: string | undefined;

  chunk(chunk: ProviderChunk): string {
    switch (chunk.type) {
      case 'text':
        return deltaLine({ content: chunk.text });
      case 'reasoning':
        return deltaLine({ reasoning_content: chunk.text });
      case 'tool_call': {
        const { id, name, arguments: input } = chunk;
        const index = this.#calls++;
        const call = { index, id, type: 'function', function: { name, arguments: input } };
        return deltaLine({ tool_calls: [call] });
      }
      case 'usage': {
        const { inputTokens: prompt_tokens, outputTokens: completion_tokens } = chunk;
        const total_tokens = prompt_tokens + completion_tokens;
        return dataLine({ choices: [], usage: { prompt_tokens, completion_tokens, total_tokens } });
      }
      case 'stop':
        this.#stop = chunk.reason;
        return '';
    }
  }

  end(): string {
    const reason = this.#stop ?? (this.#calls > 0 ? 'tool_calls' : 'stop');
    const end = dataLine({ choices: [{ index: 0, delta: {}, finish_reason: reason }] });
    return `${end}data: [DONE]\n\n`;
  }
}

function deltaLine(delta: unknown): string {
  return dataLine({ choices: [{ index: 0, delta }] });
}

function dataLine(value: unknown): string {
  return `data: ${JSON.stringify(value)}\n\n`;
}

function errorResponse(message: string, status: number): Response {
  return Response.json({ error: { message } }, { status });
}
