import { type Agent, createAgent, defineTool, subAgent } from '@millrace/agent';
import { type JsonObject, type Part, toolCallPart } from '@millrace/core';
import { memoryLog } from '@millrace/log';
import { createProvider, type ModelRequest, type Provider } from '@millrace/providers';
import { scriptedProvider } from '@millrace/providers/scripted';
import { createServer, type Server } from '@millrace/server';
import { askUserTool } from '@millrace/tools';
import { z } from 'zod';
import { builtPage } from './built-page.ts';

/** The output of a model in one step: texts, and calls with their inputs. */
type Step = readonly (string | readonly [tool: string, input: JsonObject])[];

/** The steps of a model after a message that begins with a word. */
type Scripts = Readonly<Record<string, readonly Step[]>>;

const operator = 'mr_0123456789abcdefghijklmnopqrstuvwxyz';

/**
 * A server with an agent that uses all parts of the chat. Its sub-agent calls a second sub-agent,
 * and the second sub-agent asks before it writes.
 */
export class TalkServer {
  /** Each step of the sub-agents waits until the test has opened the gate. */
  #gate = Promise.withResolvers<void>();
  readonly #server: Server;
  #url = '';

  private constructor() {
    const log = memoryLog();
    const write = defineTool({
      ...{ name: 'write', description: 'Writes a file', input: z.object({ path: z.string() }) },
      execute: async ({ path }) => `Wrote ${path}`,
    });
    const helper = createAgent({
      ...{ log, name: 'helper', tools: [write], approve: () => 'ask' as const },
      provider: this.#model(helperScripts, true),
    });
    const scout = createAgent({
      ...{ log, name: 'scout', tools: [asTool('helper', helper)] },
      provider: this.#model(scoutScripts, true),
    });
    const agent = createAgent({
      ...{ log, name: 'lead', tools: [asTool('scout', scout), askUserTool()] },
      provider: this.#model(leadScripts, false),
    });
    const models = ['talk-1', 'talk-2'];
    const agents = [{ type: 'loop', name: 'lead', description: 'Talks', agent, models } as const];
    this.#server = createServer({ tokens: [operator], log, agents, page: builtPage() });
  }

  static async start(): Promise<TalkServer> {
    const server = new TalkServer();
    const { url } = await server.#server.listen({ port: 0 });
    server.#url = url;
    return server;
  }

  get url(): string {
    return this.#url;
  }

  /** The token of the operator. */
  get token(): string {
    return operator;
  }

  /** Lets the sub-agents continue. */
  open(): void {
    this.#gate.resolve();
  }

  /** Holds the next steps of the sub-agents. */
  hold(): void {
    this.#gate = Promise.withResolvers<void>();
  }

  async close(): Promise<void> {
    this.open();
    await this.#server.close();
  }

  #model(scripts: Scripts, isGated: boolean): Provider {
    const server = this;
    return createProvider('talk', 'talk-1', async function* (request, context) {
      const step = stepOf(request, scripts);
      const parts = step.map((part): Part | string =>
        typeof part === 'string' ? part : toolCallPart(context.ids.toolCall(), part[0], part[1]),
      );
      const script = [{ content: { parts } }];
      const answer = scriptedProvider(script, { id: 'talk', model: 'talk-1', pieces: 'token' });
      yield* answer.stream(request, context);
      // The text is on the log before the step ends.
      if (isGated) await Promise.race([server.#gate.promise, aborted(context.signal)]);
    });
  }
}

const asTool = (name: string, agent: Agent) =>
  subAgent({ name, description: `Gives a task to ${name}`, agent });

const question = {
  question: 'Which database do you want?\nIt stores the orders.',
  options: [{ label: 'SQLite', description: 'One file' }, { label: 'Postgres' }],
};

/** Returns a picture that is long enough for the panel of documents. */
function picture(color: string): string {
  const bars = Array.from(
    { length: 10 },
    (_, n) =>
      `  <rect x="${20 + n * 21}" y="${100 - n * 7}" width="12" height="${n * 7 + 10}" fill="#f8f7f4"/>`,
  );
  const head = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 240 120">';
  const svg = [head, `  <rect width="240" height="120" fill="${color}"/>`, ...bars, '</svg>'];
  return `\`\`\`svg\n${svg.join('\n')}\n\`\`\`\n`;
}

const leadScripts: Scripts = {
  draw: [
    [`Here is the sign.\n\n${picture('#0b6a8f')}\nAnd in another color:\n\n${picture('#14191c')}`],
  ],
  weather: [['Take purple umbrellas along.\n']],
  question: [['One question first.\n', ['ask_user', question]], ['Thank you for the answer.\n']],
  delegate: [['I ask the scout.\n', ['scout', { task: 'Look outside' }]], ['The scout is back.\n']],
};
const scoutScripts: Scripts = {
  Look: [['I look outside.\n', ['helper', { task: 'Write it down' }]], ['It rains outside.\n']],
};
const helperScripts: Scripts = {
  Write: [['I write it down.\n', ['write', { path: 'rain.md' }]], ['It is written down.\n']],
};

/** Returns the step of a model: the number of tool results since the last message counts. */
function stepOf({ items }: ModelRequest, scripts: Scripts): Step {
  const at = items.findLastIndex(({ kind }) => kind === 'user');
  const [first] = items[at]?.parts ?? [];
  const word = first?.kind === 'text' ? (first.text.split(/\s/, 1)[0] ?? '') : '';
  const steps = items.slice(at + 1).filter(({ kind }) => kind === 'tool').length;
  return scripts[word]?.[steps] ?? ['I have nothing to say.\n'];
}

function aborted(signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) =>
    signal?.addEventListener('abort', () => resolve(), { once: true }),
  );
}
