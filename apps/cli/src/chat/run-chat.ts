import { asciiTerminal, isAsciiTerminal } from '../text/terminal/ascii-terminal.ts';
import type { RunChatOptions } from './contract/chat-options.ts';

// The chat module is slow to load, so loading starts when this module is imported.
const loadedChat = loadForProduction(() => import('./chat-in-terminal.tsx'));

loadedChat.catch(() => {});

/** Runs the chat in a terminal until the user leaves it. Returns the exit code. */
export async function runChat(given: RunChatOptions): Promise<number> {
  const { env, stdout = process.stdout } = given;
  const options = isAsciiTerminal(env) ? { ...given, stdout: asciiTerminal(stdout) } : given;
  if (isPlainChat(options)) {
    const { plainChat } = await import('./plain/plain-chat.ts');
    return plainChat(options);
  }
  const { chatInTerminal } = await loadedChat;
  return chatInTerminal(options);
}

/**
 * Returns true if the chat prints lines and draws no screen: with `--plain`, with the setting `plain`, and in a
 * terminal that cannot move its cursor.
 */
function isPlainChat({ args, config, env }: RunChatOptions): boolean {
  return args?.plain === true || config.plain === true || env['TERM'] === 'dumb';
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
