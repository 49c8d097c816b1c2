import type { RunChatOptions } from './contract/chat-options.ts';

// The chat module loads slowly, so its loading starts when this module is imported.
const loadedChat = loadForProduction(() => import('./chat-in-terminal.tsx'));

loadedChat.catch(() => {});

/** Runs the chat in a terminal until the user leaves it. Returns the exit code. */
export async function runChat(options: RunChatOptions): Promise<number> {
  const { chatInTerminal } = await loadedChat;
  return chatInTerminal(options);
}

/**
 * Loads a module with NODE_ENV set to `production`. React reads the variable while it loads.
 * Without it, React runs many extra checks.
 *
 * The variable is set only during loading, because tool processes inherit the environment.
 */
export async function loadForProduction<Loaded>(load: () => Promise<Loaded>): Promise<Loaded> {
  if (process.env['NODE_ENV'] !== undefined) return load();
  process.env['NODE_ENV'] = 'production';
  try {
    return await load();
  } finally {
    delete process.env['NODE_ENV'];
  }
}
