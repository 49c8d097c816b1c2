import { setTimeout } from 'node:timers/promises';
import { createAgent } from '@millrace/agent';
import { memoryLog } from '@millrace/log';
import { createServer, type ServedAgent, type Server } from '@millrace/server';
import { type DemoProviderOptions, demoProvider } from './demo-provider.ts';
import { demoTools } from './demo-tools.ts';

interface DemoServerOptions extends DemoProviderOptions {
  readonly page?: string | undefined;
}

/**
 * Creates a server with agents that use every feature of the page. The caller starts it with
 * `listen`.
 */
function demoServer({ page, ...options }: DemoServerOptions = {}): Server {
  const log = memoryLog();
  const agent = createAgent({
    name: 'builder',
    provider: demoProvider(options),
    tools: demoTools(),
    log,
    approve: ({ call: { name } }) =>
      name === 'write'
        ? { decision: 'ask', reason: 'It changes a file.', rule: 'write(notes/**)' }
        : 'allow',
    whileAsking: 'park',
    retry: { baseDelayMs: 800 },
  });
  const agents: readonly ServedAgent[] = [
    {
      type: 'loop',
      name: 'builder',
      description: 'Follows a script: reads files, runs tests, asks for approval and writes',
      agent,
    },
    echo,
  ];
  return createServer({ tokens: 'none', agents, log, page });
}

const echo: ServedAgent = {
  type: 'sync',
  name: 'echo',
  description: 'Repeats your message word by word',
  async *onMessage(content, context) {
    const { signal } = context;
    const text = content.type === 'text' ? content.content : JSON.stringify(content);
    const files = (content.type === 'text' && content.attachments) || [];
    for (const { file_id, name, type } of files) {
      const { length } = await context.files.read(file_id);
      const line = `I got ${name} (${type}, ${length} bytes).\n\n`;
      yield { type: 'delta', index: 0, delta: { type: 'text', text_delta: line } };
    }
    for (const word of text.match(/\S+\s*/g) ?? []) {
      yield { type: 'delta', index: 0, delta: { type: 'text', text_delta: word } };
      await setTimeout(40, undefined, { signal });
    }
  },
};

if (import.meta.main) {
  const [port = '5010', page, pauseMs = '12'] = process.argv.slice(2);
  const { url } = await demoServer({ page, pauseMs: Number(pauseMs) }).listen({
    port: Number(port),
  });
  process.stdout.write(`${url}\n`);
}
