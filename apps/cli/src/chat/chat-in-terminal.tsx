import { systemClock } from '@millrace/agent';
import { render } from 'ink';
import { themeFor } from '../text/theme/theme.ts';
import type { ChatApp } from './chat-app.ts';
import type { RunChatOptions } from './contract/chat-options.ts';
import { type ChatSurface, openChatOn } from './open-chat.ts';
import { ChatRoot } from './screen/chat-screen.tsx';
import { terminalReflows } from './screen/reflow.ts';
import { ScreenOutput } from './screen/screen-output.ts';

/** Draws the chat in a terminal until the user leaves it. Returns the exit code. */
export function chatInTerminal(options: RunChatOptions): Promise<number> {
  return openChatOn(drawnSurface(options), options);
}

function drawnSurface(options: RunChatOptions): ChatSurface {
  const { env, stdin = process.stdin, stdout = process.stdout, clock = systemClock } = options;
  const theme = themeFor({ env, isTTY: stdout.isTTY === true });
  let shownApp: ChatApp | undefined;
  const screen = new ScreenOutput({
    terminal: stdout,
    clock,
    hasColor: () => (shownApp?.display.theme ?? theme).styles.strong.length > 0,
    reflows: terminalReflows(env),
  });
  return {
    theme,
    screen,
    show(app, history) {
      shownApp = app;
      const root = <ChatRoot app={app} history={history.entries} onSent={history.add} />;
      const instance = render(root, {
        ...{ stdin, stdout: screen.stream, interactive: true, incrementalRendering: true },
        // `Display` limits how often the screen is drawn, so Ink does not limit it here.
        ...{ exitOnCtrlC: false, patchConsole: false, maxFps: 1000 },
      });
      screen.attach(app.display, instance);
      const hide = async () => {
        instance.unmount();
        await instance.waitUntilExit().catch(() => {});
      };
      return { ended: instance.waitUntilExit(), hide };
    },
    close: () => screen.close(),
  };
}
