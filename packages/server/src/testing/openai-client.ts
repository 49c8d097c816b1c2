import { type AgentOptions, createAgent } from '@millrace/agent';
import { type Log, memoryLog } from '@millrace/log';
import { type ScriptEntry, scriptedProvider } from '@millrace/providers/scripted';
import OpenAI from 'openai';
import { onTestFinished } from 'vitest';
import { createServer, type ServerOptions } from '../create-server.ts';

interface OpenAiServerOptions {
  readonly agent?: Partial<AgentOptions> | undefined;
  readonly server?: Partial<ServerOptions> | undefined;
  readonly log?: Log | undefined;
  readonly models?: readonly string[] | undefined;
  /** The pieces in which the model streams its answers. Default: `token`. */
  readonly pieces?: 'token' | 'whole' | undefined;
}

/** Serves an agent with a scripted model, and returns OpenAI's client for it. */
export async function serveOpenAi(
  script: readonly ScriptEntry[],
  {
    agent: options,
    server: more,
    log = memoryLog(),
    models,
    pieces = 'token',
  }: OpenAiServerOptions = {},
) {
  const provider = scriptedProvider(script, { pieces });
  const agent = createAgent({
    ...{ provider, log, callerOptions: 'accept', whileAsking: 'park', ...options },
  });
  const server = createServer({
    ...{ tokens: 'none', log, limits: { closeTimeoutMs: 200 }, ...more },
    agents: [{ type: 'loop', name: 'helper', agent, models }],
  });
  const { url } = await server.listen({ port: 0 });
  onTestFinished(async () => {
    await server.close();
    await log.close();
  });
  const clientWith = (apiKey: string) =>
    new OpenAI({ apiKey, baseURL: `${url}/v1`, maxRetries: 0 });
  return { client: clientWith('none'), clientWith, url, log, server };
}
