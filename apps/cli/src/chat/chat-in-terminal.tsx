import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { systemClock } from '@millrace/agent';
import { render } from 'ink';
import { exitCodes } from '../exit-code.ts';
import type { HistoryEntry } from '../input/editor/editor-state.ts';
import { openHistory } from '../input/history/history.ts';
import { version } from '../package-files.ts';
import { storePath } from '../store/open-store.ts';
import { writeText } from '../text/terminal/terminal-gate.ts';
import { themeFor } from '../text/theme/theme.ts';
import { ChatApp } from './chat-app.ts';
import { pickSession } from './commands/session-commands.ts';
import { note } from './contract/block.ts';
import type { RunChatOptions } from './contract/chat-options.ts';
import { ChatRoot } from './screen/chat-screen.tsx';
import { deferSignals } from './screen/defer-signals.ts';
import { terminalReflows } from './screen/reflow.ts';
import { ScreenOutput } from './screen/screen-output.ts';
import { welcome } from './session-notices.ts';

/** Shows the chat in a terminal until the user leaves it. Returns the exit code. */
export async function chatInTerminal(options: RunChatOptions): Promise<number> {
  const { config, built, chosen, log, session, cwd, env, signal } = options;
  const { stdin = process.stdin, stdout = process.stdout, clock = systemClock } = options;
  if (env['TERM'] === 'dumb') {
    writeText(stdout, dumbTerminalMessage);
    return exitCodes.usage;
  }
  const theme = themeFor({ env, isTTY: stdout.isTTY === true });
  let app: ChatApp | undefined;
  const screen = new ScreenOutput({
    terminal: stdout,
    clock,
    hasColor: () => (app?.display.theme ?? theme).styles.strong.length > 0,
    reflows: terminalReflows(env),
  });
  const quit = Promise.withResolvers<void>();
  const onQuit = () => quit.resolve();
  const { ids } = options;
  const canStop = stdin === process.stdin && process.platform !== 'win32';
  const suspend = canStop ? suspendProcess : undefined;
  const isStored = storeCheck(options);
  app = new ChatApp(
    {
      args: options.args,
      log,
      built,
      config,
      cwd,
      env,
      clock,
      theme,
      screen,
      onQuit,
      ids,
      suspendProcess: suspend,
      isStored: isStored,
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
  const onExit = () => screen.close();
  process.once('exit', onExit);
  const root = <ChatRoot app={app} history={history.entries} onSent={history.add} />;
  const instance = render(root, {
    ...{ stdin, stdout: screen.stream, interactive: true, incrementalRendering: true },
    // `Display` limits how often the screen is drawn, so Ink does not limit it here.
    ...{ exitOnCtrlC: false, patchConsole: false, maxFps: 1000 },
  });
  screen.attach(app.display, instance);
  const releaseSignals = signal === undefined ? () => {} : deferSignals(process);
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
    await Promise.race([quit.promise, instance.waitUntilExit()]);
  } finally {
    signal?.removeEventListener('abort', onAbort);
    screen.size.pause();
    await app.close();
    instance.unmount();
    await instance.waitUntilExit().catch(() => {});
    screen.close();
    releaseSignals();
    process.off('exit', onExit);
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

const dumbTerminalMessage =
  'This terminal (TERM=dumb) cannot show the chat. Use: millrace -p "your prompt"\n';

interface ChatHistory {
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
