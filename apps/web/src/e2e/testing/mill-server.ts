import { convertRunEvents, millraceModels, runHooks } from '@millrace/openai-agents';
import { createServer, type ServedAgent, type Server } from '@millrace/server';
import { miller, runnerOf } from '../../../../../packages/openai-agents/src/testing/mill.ts';
import { builtPage } from './built-page.ts';
import { MillProvider } from './mill-provider.ts';

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
