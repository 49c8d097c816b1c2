import type { RunChatOptions } from './contract/chat-options.ts';

// The chat module is slow to load, so loading starts when this module is imported.
const loadedChat = loadForProduction(() => import('./chat-in-terminal.tsx'));

loadedChat.catch(() => {});

/** Runs the chat in a terminal until the user leaves it. Returns the exit code. */
export async function runChat(options: RunChatOptions): Promise<number> {
  const { chatInTerminal } = await loadedChat;
  return chatInTerminal(options);
}

/**
 * Loads a module while NODE_ENV is `production`. React reads this variable when it loads. With
 * other values, React does many extra checks.
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
