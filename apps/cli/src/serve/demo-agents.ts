import { setTimeout } from 'node:timers/promises';
import type { Log } from '@millrace/log';
import type { ServedAgent } from '@millrace/server';
import { buildAgent } from '../agent/build-agent.ts';
import { loadConfig } from '../config/load-config.ts';
import type { Env } from '../contract/host.ts';
import { demoProvider } from '../demo/demo-provider.ts';

interface DemoAgentsOptions {
  readonly log: Log;
  /** The folder that the demo describes. */
  readonly cwd: string;
  readonly env: Env;
  /** If true, the demo can change files and run programs without approval. */
  readonly mayChange: boolean;
}

/**
 * Creates the agents for a server without `--agents`: one with a scripted model and real tools, and
 * one that echoes messages.
 */
export async function demoAgents(options: DemoAgentsOptions): Promise<readonly ServedAgent[]> {
  const { log, cwd, env, mayChange } = options;
  const args = mayChange ? ({ permissions: 'allow' } as const) : {};
  const config = await loadConfig({ args, env, cwd });
  const chosen = { provider: demoProvider({ cwd }), label: 'demo', why: '', isDemo: true };
  const { agent } = await buildAgent({
    ...{ chosen, log, cwd, approve: 'park', name: 'millrace serve' },
    config: { ...config, mcpServers: [] },
  });
  const asks = mayChange ? '' : ' after approval';
  const description = `A script instead of a model, with the real loop and real tools. It explores this folder and changes a file${asks}`;
  return [{ type: 'loop', name: 'demo', description, agent }, echo];
}

const pauseMs = 40;

const echo: ServedAgent = {
  type: 'sync',
  name: 'echo',
  description: 'Repeats your message, word by word',
  async *onMessage(content, { signal }) {
    const said = content.type === 'text' ? content.content : JSON.stringify(content);
    for (const word of said.match(/\S+\s*|\s+/g) ?? []) {
      yield { type: 'delta', index: 0, delta: { type: 'text', text_delta: word } };
      await setTimeout(pauseMs, undefined, { signal });
    }
  },
};
