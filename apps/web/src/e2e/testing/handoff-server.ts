import { type Ids, type Part, toolCallPart } from '@millrace/core';
import { convertRunEvents, millraceModels, runHooks } from '@millrace/openai-agents';
import { createProvider, type Provider, type StreamStep } from '@millrace/providers';
import { scriptedProvider } from '@millrace/providers/scripted';
import { createServer, type ServedAgent, type Server } from '@millrace/server';
import { miller, runnerOf } from '../../../../../packages/openai-agents/src/testing/mill.ts';
import { builtPage } from './built-page.ts';

/** The OpenAI Agents SDK behind the page: an agent with a tool and a hand-off, served both ways. */
export class MillServer {
  readonly model = new MillProvider();
  readonly #server: Server;
  #url = '';

  private constructor() {
    const agents = [this.#sync(), this.#async()];
    this.#server = createServer({ agents, page: builtPage() });
  }

  static async start(): Promise<MillServer> {
    const mill = new MillServer();
    const { url } = await mill.#server.listen({ port: 0 });
    mill.#url = url;
    return mill;
  }

  get url(): string {
    return this.#url;
  }

  async close(): Promise<void> {
    this.model.goOn();
    await this.#server.close();
  }

  #sync(): ServedAgent {
    const models = millraceModels({ provider: this.model.provider });
    // Tracing would send what is said to OpenAI.
    const runner = runnerOf(models);
    return {
      ...{ type: 'sync', name: 'sync-mill' },
      async *onMessage(content, { signal }) {
        const asked = content.type === 'text' ? content.content : '';
        yield* convertRunEvents(await runner.run(miller, asked, { stream: true, signal }));
      },
    };
  }

  #async(): ServedAgent {
    const { provider } = this.model;
    return {
      ...{ type: 'async', name: 'async-mill' },
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

/** Where it waits in what it says. */
const pauses = '…';

/** A model that looks at the weather, hands over, and says the last word; in each `…` it waits to be told to go on. */
class MillProvider {
  readonly provider: Provider;
  #gate = Promise.withResolvers<void>();

  constructor() {
    this.provider = createProvider('mill', 'mill-1', (request, context) => {
      const results = request.items.flatMap(({ parts }) =>
        parts.filter(({ kind }) => kind === 'tool_result'),
      );
      const parts = answer(results.length, context.ids);
      const how = { id: 'mill', model: 'mill-1', pieces: 'token' } as const;
      const said = scriptedProvider([{ content: { parts } }], how).stream(request, context);
      return this.#haltingly(said);
    });
  }

  /** From the `…` that it is at, to the next. */
  goOn(): void {
    this.#gate.resolve();
  }

  async *#haltingly(steps: AsyncIterable<StreamStep>): AsyncGenerator<StreamStep> {
    for await (const step of steps) {
      yield step;
      const isPause = step.deltas.some(
        (delta) => delta.type === 'append_text' && delta.chunk.includes(pauses),
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
