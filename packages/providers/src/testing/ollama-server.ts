import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Options of `startOllama`. */
interface OllamaOptions {
  /** The context of a loaded model, in tokens. Default: 4096, as in Ollama. */
  readonly contextTokens?: number | undefined;
  /** True if the model is loaded at the start. Default: false. */
  readonly isLoaded?: boolean | undefined;
  readonly model?: string | undefined;
}

/** A server that behaves like Ollama. It cuts a request that does not fit, and reports no error. */
export interface OllamaServer {
  readonly baseUrl: string;
  readonly port: number;
  /** The paths of all requests. */
  readonly paths: readonly string[];
  /** The length of each chat request in tokens, before it was cut. */
  readonly sentTokens: readonly number[];
  readonly bodies: readonly Record<string, unknown>[];
  close(): Promise<void>;
}

/** Starts the server. It counts one token for four characters of the body. */
export async function startOllama(options: OllamaOptions = {}): Promise<OllamaServer> {
  const { contextTokens = 4096, model = 'qwen3:latest' } = options;
  const state = { isLoaded: options.isLoaded ?? false };
  const paths: string[] = [];
  const sentTokens: number[] = [];
  const bodies: Record<string, unknown>[] = [];
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    let text = '';
    for await (const chunk of request) text += chunk;
    const path = request.url ?? '';
    paths.push(path);
    const json = (value: object) => response.end(JSON.stringify(value));
    switch (path) {
      case '/api/ps':
        return json({
          models: state.isLoaded ? [{ name: model, model, context_length: contextTokens }] : [],
        });
      case '/api/generate':
        state.isLoaded = true;
        return json({ model, response: '', done: true, done_reason: 'load' });
      case '/api/show':
        return json({
          parameters: 'stop "<|im_end|>"',
          model_info: { 'qwen3.context_length': 40_960 },
        });
      case '/v1/models':
        return json({ object: 'list', data: [{ id: model, object: 'model' }] });
      case '/v1/chat/completions': {
        state.isLoaded = true;
        const tokens = Math.ceil(text.length / 4);
        sentTokens.push(tokens);
        bodies.push(JSON.parse(text) as Record<string, unknown>);
        const usage = { prompt_tokens: Math.min(tokens, contextTokens), completion_tokens: 2 };
        response.setHeader('content-type', 'text/event-stream');
        const events = [
          { choices: [{ index: 0, delta: { role: 'assistant', content: 'Hello.' } }] },
          { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] },
          { choices: [], usage },
        ];
        for (const event of events) response.write(`data: ${JSON.stringify(event)}\n\n`);
        return response.end('data: [DONE]\n\n');
      }
      default:
        response.statusCode = 404;
        return response.end('404 page not found');
    }
  };
  const server: Server = createServer((request, response) => void answer(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    ...{ baseUrl: `http://127.0.0.1:${port}/v1`, port, paths, sentTokens, bodies },
    close: () =>
      new Promise<void>((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}
