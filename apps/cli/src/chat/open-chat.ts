import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { systemClock } from '@millrace/agent';
import { exitCodes } from '../exit-code.ts';
import type { HistoryEntry } from '../input/editor/editor-state.ts';
import { openHistory } from '../input/history/history.ts';
import { version } from '../package-files.ts';
import { storePath } from '../store/open-store.ts';
import { ChatApp, type ChatAppOptions } from './chat-app.ts';
import { pickSession } from './commands/session-commands.ts';
import { note } from './contract/block.ts';
import type { RunChatOptions } from './contract/chat-options.ts';
import { deferSignals } from './screen/defer-signals.ts';
import { welcome } from './session-notices.ts';

/** The part of a terminal that shows the chat: a screen that is drawn, or lines that are printed. */
export interface ChatSurface extends Pick<ChatAppOptions, 'theme' | 'plain' | 'screen'> {
  /** Shows the chat and reads keys, until `hide` is called. */
  show(app: ChatApp, history: ChatHistory): ShownChat;
  /** Restores the terminal. It is also called if the process exits early. */
  close(): void;
}

interface ShownChat {
  /** Settles if the surface ends by itself, for example because it has failed. */
  readonly ended: Promise<unknown>;
  hide(): Promise<void>;
}

/** Runs the chat on a surface until the user leaves it. Returns the exit code. */
export async function openChatOn(surface: ChatSurface, options: RunChatOptions): Promise<number> {
  const { config, built, chosen, log, session, cwd, env, signal } = options;
  const { stdin = process.stdin, clock = systemClock } = options;
  const { theme, plain, screen } = surface;
  const quit = Promise.withResolvers<void>();
  const onQuit = () => quit.resolve();
  const { ids } = options;
  const canStop = stdin === process.stdin && process.platform !== 'win32';
  const suspend = canStop ? suspendProcess : undefined;
  const isStored = storeCheck(options);
  const app = new ChatApp(
    {
      ...{ args: options.args, log, built, config, cwd, env, clock, theme, plain, screen },
      ...{ onQuit, ids, suspendProcess: suspend, isStored },
    },
    session,
  );
  const history = await promptHistory(options);
  const { protection } = built;
  app.print(...welcome({ version: version(), chosen, cwd, home: env['HOME'], protection }));
  app.print(...built.problems.map((problem) => note('mark', problem)));
  showServerProblems(app, built);
  built.onNotice((text) => app.print(note('mark', text)));
  built.extensions.code?.onStatus(() => app.display.requestDraw());
  const onExit = () => surface.close();
  process.once('exit', onExit);
  const shown = surface.show(app, history);
  const releaseSignals = signal === undefined ? () => {} : deferSignals(process);
  // Somebody else stopped the process, for example with `kill -STOP`. Other text may be on the screen now.
  const onContinue = () => {
    if (app.display.isAway) return;
    app.dialogs.hide();
    screen.redraw();
  };
  if (suspend !== undefined) process.on('SIGCONT', onContinue);
  const onAbort = () => quit.resolve();
  signal?.addEventListener('abort', onAbort);
  if (signal?.aborted) onAbort();
  let isCancelled = false;
  try {
    const sendPrompt = () => options.prompt !== undefined && app.sendFirst(options.prompt);
    const onCancel = () => {
      isCancelled = true;
      quit.resolve();
    };
    if (options.picks !== true || !(await pickSession(app, { onOpened: sendPrompt, onCancel }))) {
      await app.showSession();
      sendPrompt();
    }
    // If the rendering fails, the chat ends too. The error is thrown after the terminal is
    // restored.
    await Promise.race([quit.promise, shown.ended]);
  } finally {
    signal?.removeEventListener('abort', onAbort);
    screen.size.pause();
    await app.close();
    await shown.hide();
    surface.close();
    releaseSignals();
    process.off('exit', onExit);
    process.off('SIGCONT', onContinue);
  }
  return signal?.aborted || isCancelled ? exitCodes.aborted : exitCodes.done;
}

/** Prints each problem of an MCP server once, and updates the status line. */
function showServerProblems(app: ChatApp, { servers }: RunChatOptions['built']): void {
  const shown = new Set<string>();
  const show = () => {
    const fresh = servers.problems().filter((problem) => !shown.has(problem));
    for (const problem of fresh) shown.add(problem);
    app.print(...fresh.map((problem) => note('mark', problem)));
    app.display.requestDraw();
  };
  servers.onChange(show);
  show();
}

/** The messages that the user sent before. */
export interface ChatHistory {
  readonly entries: readonly HistoryEntry[];
  readonly add: (entry: HistoryEntry) => void;
}

/**
 * Returns a function that checks whether the session file still exists. Returns undefined if the
 * sessions are not in a file.
 */
function storeCheck({ config, env }: RunChatOptions): (() => boolean) | undefined {
  try {
    const path = storePath(config, env);
    return existsSync(path) ? () => existsSync(path) : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Opens the history of the prompt. If the file cannot be opened, the prompt offers no earlier
 * messages.
 */
async function promptHistory({ config, env }: RunChatOptions): Promise<ChatHistory> {
  try {
    const path = join(dirname(storePath(config, env)), 'history.jsonl');
    const { entries, add } = await openHistory({ path });
    return { entries, add: (entry) => void add(entry).catch(() => {}) };
  } catch {
    return { entries: [], add: () => {} };
  }
}

/** Suspends the process and resolves when it continues. */
async function suspendProcess(): Promise<void> {
  // The output that restores the screen must be written before the process stops.
  await new Promise((resolve) => setImmediate(resolve));
  // The process no longer reads the keyboard. A timer keeps it alive until SIGCONT arrives.
  const keepAlive = setInterval(() => {}, 1000);
  await new Promise<void>((resolve) => {
    process.once('SIGCONT', () => resolve());
    process.kill(process.pid, 'SIGTSTP');
  });
  clearInterval(keepAlive);
}
