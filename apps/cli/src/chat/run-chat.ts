import type { RunChatOptions } from './contract/chat-options.ts';

// It takes a while, and whoever imports this will need it.
const loading = inProduction(() => import('./chat-in-terminal.tsx'));

loading.catch(() => {});

/** The chat in a terminal, until it is left. */
export async function runChat(options: RunChatOptions): Promise<number> {
  const { chatInTerminal } = await loading;
  return chatInTerminal(options);
}

/**
 * Loads something as it is meant for use. React looks at NODE_ENV when it is loaded, and checks and
 * notes much unless that says production. It is set for that moment alone: the tools' processes get
 * this environment too, and must not be told what nobody said.
 */
export async function inProduction<Loaded>(load: () => Promise<Loaded>): Promise<Loaded> {
  if (process.env['NODE_ENV'] !== undefined) return load();
  process.env['NODE_ENV'] = 'production';
  try {
    return await load();
  } finally {
    delete process.env['NODE_ENV'];
  }
}
