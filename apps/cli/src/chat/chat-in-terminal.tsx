import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { systemClock } from '@millrace/agent';
import { render } from 'ink';
import { exitCodes } from '../exit-code.ts';
import type { HistoryEntry } from '../input/editor/editor-state.ts';
import { openHistory } from '../input/history/history.ts';
import { version } from '../package-files.ts';
import { storePath } from '../store/open-store.ts';
import { themeFor } from '../text/theme/theme.ts';
import { ChatApp } from './chat-app.ts';
import { note } from './contract/block.ts';
import type { RunChatOptions } from './contract/chat-options.ts';
import { ChatRoot } from './screen/chat-screen.tsx';
import { holdSignals } from './screen/defer-signals.ts';
import { doesReflow } from './screen/reflow.ts';
import { ScreenOutput } from './screen/screen-output.ts';
import { welcome } from './session-notices.ts';

/** The chat in a terminal, until it is left. */
export async function chatInTerminal(options: RunChatOptions): Promise<number> {
  const { config, built, chosen, log, session, cwd, env, signal } = options;
  const { stdin = process.stdin, stdout = process.stdout, clock = systemClock } = options;
  if (env['TERM'] === 'dumb') {
    stdout.write(cannotShow);
    return exitCodes.usage;
  }
  const theme = themeFor({ env, isTTY: stdout.isTTY === true });
  const hasColor = theme.styles.strong.length > 0;
  const screen = new ScreenOutput({ terminal: stdout, clock, hasColor, reflows: doesReflow(env) });
  const left = Promise.withResolvers<void>();
  const onQuit = () => left.resolve();
  const { ids } = options;
  const canStop = stdin === process.stdin && process.platform !== 'win32';
  const suspension = canStop ? untilContinued : undefined;
  const isKept = keeping(options);
  const app = new ChatApp(
    { log, built, config, cwd, env, clock, theme, screen, onQuit, ids, suspension, isKept },
    session,
  );
  const history = await historyOf(options);
  app.print(...welcome({ version: version(), chosen, cwd, home: env['HOME'] }));
  app.print(...built.problems.map((problem) => note('mark', problem)));
  const onExit = () => screen.end();
  process.once('exit', onExit);
  const root = <ChatRoot app={app} history={history.entries} onSent={history.add} />;
  const instance = render(root, {
    ...{ stdin, stdout: screen.stream, interactive: true, incrementalRendering: true },
    // What is drawn when is decided in the app, by its own clock.
    ...{ exitOnCtrlC: false, patchConsole: false, maxFps: 1000 },
  });
  screen.attach(app.display, instance);
  const releaseSignals = signal === undefined ? () => {} : holdSignals(process);
  const onAbort = () => left.resolve();
  signal?.addEventListener('abort', onAbort);
  if (signal?.aborted) onAbort();
  try {
    await app.begin();
    if (options.prompt !== undefined) app.submit(options.prompt);
    // A mistake of ours in drawing ends the chat as well, and is told when the terminal is whole again.
    await Promise.race([left.promise, instance.waitUntilExit()]);
  } finally {
    signal?.removeEventListener('abort', onAbort);
    screen.size.pause();
    await app.close();
    instance.unmount();
    await instance.waitUntilExit().catch(() => {});
    screen.end();
    releaseSignals();
    process.off('exit', onExit);
  }
  return signal?.aborted ? exitCodes.aborted : exitCodes.done;
}

const cannotShow =
  'This terminal (TERM=dumb) cannot show the chat. For one answer: millrace -p "…"\n';

interface ChatHistory {
  readonly entries: readonly HistoryEntry[];
  readonly add: (entry: HistoryEntry) => void;
}

/** Whether the file of the sessions is still there; undefined where they are in none. */
function keeping({ config, env }: RunChatOptions): (() => boolean) | undefined {
  try {
    const path = storePath(config, env);
    return existsSync(path) ? () => existsSync(path) : undefined;
  } catch {
    return undefined;
  }
}

/** Without a file for it, what was said before is not offered, and that is all. */
async function historyOf({ config, env }: RunChatOptions): Promise<ChatHistory> {
  try {
    const path = join(dirname(storePath(config, env)), 'history.jsonl');
    const { entries, add } = await openHistory({ path });
    return { entries, add: (entry) => void add(entry).catch(() => {}) };
  } catch {
    return { entries: [], add: () => {} };
  }
}

/** Resolves when the process goes on. */
async function untilContinued(): Promise<void> {
  // What was written to leave the screen in order has to be there first.
  await new Promise((resolve) => setImmediate(resolve));
  // With the keyboard let go of, nothing else might keep the process until it hears of it.
  const kept = setInterval(() => {}, 1000);
  await new Promise<void>((resolve) => {
    process.once('SIGCONT', () => resolve());
    process.kill(process.pid, 'SIGTSTP');
  });
  clearInterval(kept);
}
