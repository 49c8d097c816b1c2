import { type Ids, type Part, toolCallPart } from '@millrace/core';
import { convertRunEvents, millraceModels, runHooks } from '@millrace/openai-agents';
import { createProvider, type Provider, type StreamStep } from '@millrace/providers';
import { scriptedProvider } from '@millrace/providers/scripted';
import { createServer, type ServedAgent, type Server } from '@millrace/server';
import { miller, runnerOf } from '../../../../../packages/openai-agents/src/testing/mill.ts';
import { builtPage } from './built-page.ts';

/**
 * A server with an agent of the OpenAI Agents SDK. The agent has a tool and a hand-off. The server
 * offers it as a sync agent and as an async agent.
 */
export class HandoffServer {
  readonly model = new PausingProvider();
  readonly #server: Server;
  #url = '';

  private constructor() {
    const agents = [this.#sync(), this.#async()];
    this.#server = createServer({ tokens: 'none', agents, page: builtPage() });
  }

  static async start(): Promise<HandoffServer> {
    const server = new HandoffServer();
    const { url } = await server.#server.listen({ port: 0 });
    server.#url = url;
    return server;
  }

  get url(): string {
    return this.#url;
  }

  async close(): Promise<void> {
    this.model.resume();
    await this.#server.close();
  }

  #sync(): ServedAgent {
    const models = millraceModels({ provider: this.model.provider });
    // The runner disables tracing, which would send the content to OpenAI.
    const runner = runnerOf(models);
    return {
      ...{ type: 'sync', name: 'sync-agent' },
      async *onMessage(content, { signal }) {
        const message = content.type === 'text' ? content.content : '';
        yield* convertRunEvents(await runner.run(miller, message, { stream: true, signal }));
      },
    };
  }

  #async(): ServedAgent {
    const { provider } = this.model;
    return {
      ...{ type: 'async', name: 'async-agent' },
      async onEvent({ content }, context) {
        if (content?.type !== 'text') return;
        await context.messages.create(content);
        await using hooks = runHooks(context);
        const modelProvider = millraceModels({ provider, stream: hooks });
        const runner = runnerOf(modelProvider);
        hooks.attach(runner);
        await runner.run(miller, content.content, { signal: context.signal });
      },
    };
  }
}

/** The character after which the model pauses. */
const pauseMark = '…';

/**
 * A model that calls the weather tool, hands off to a second agent, and answers. At each `…` it
 * waits for `resume()`.
 */
class PausingProvider {
  readonly provider: Provider;
  #gate = Promise.withResolvers<void>();

  constructor() {
    this.provider = createProvider('demo', 'demo-1', (request, context) => {
      const results = request.items.flatMap(({ parts }) =>
        parts.filter(({ kind }) => kind === 'tool_result'),
      );
      const parts = answer(results.length, context.ids);
      const options = { id: 'demo', model: 'demo-1', pieces: 'token' } as const;
      const stream = scriptedProvider([{ content: { parts } }], options).stream(request, context);
      return this.#withPauses(stream);
    });
  }

  /** Continues from the current `…` to the next one. */
  resume(): void {
    this.#gate.resolve();
  }

  async *#withPauses(steps: AsyncIterable<StreamStep>): AsyncGenerator<StreamStep> {
    for await (const step of steps) {
      yield step;
      const isPause = step.deltas.some(
        (delta) => delta.type === 'append_text' && delta.chunk.includes(pauseMark),
      );
      if (!isPause) continue;
      await this.#gate.promise;
      this.#gate = Promise.withResolvers();
    }
  }
}

function answer(results: number, ids: Pick<Ids, 'toolCall'>): readonly (Part | string)[] {
  switch (results) {
    case 0:
      return [
        { kind: 'reasoning', form: 'summary', text: 'Is it wet?' },
        'Let me look … at the sky.',
        toolCallPart(ids.toolCall(), 'weather', { town: 'Bath' }),
      ];
    case 1:
      return [toolCallPart(ids.toolCall(), 'transfer_to_Baker', {})];
    default:
      return ['Bread … is ready.'];
  }
}
