import { type Clock, systemClock } from '@millrace/agent';
import { TerminalText, writeText } from '../../text/terminal/terminal-gate.ts';
import { spoken, themeFor } from '../../text/theme/theme.ts';
import type { RunChatOptions, Terminal } from '../contract/chat-options.ts';
import { type ChatSurface, openChatOn } from '../open-chat.ts';
import { PlainPrinter } from './plain-printer.ts';
import { PlainScreen } from './plain-screen.ts';

/** Runs the chat in lines until the user leaves it. Nothing on the screen is drawn again. Returns the exit code. */
export function plainChat(options: RunChatOptions): Promise<number> {
  const { env, stdin = process.stdin, stdout = process.stdout, clock = systemClock } = options;
  return openChatOn(plainSurface({ env, stdin, terminal: stdout, clock }), options);
}

interface PlainSurfaceOptions extends Pick<RunChatOptions, 'env'> {
  readonly stdin: NodeJS.ReadableStream;
  readonly terminal: Terminal;
  readonly clock: Clock;
}

function plainSurface({ env, stdin, terminal, clock }: PlainSurfaceOptions): ChatSurface {
  // Without control sequences, the terminal cannot mark pastes and cannot set the clipboard.
  const isDumb = env['TERM'] === 'dumb';
  const printer = new PlainPrinter();
  let shown: PlainScreen | undefined;
  return {
    theme: spoken(themeFor({ env, isTTY: terminal.isTTY === true })),
    plain: printer,
    screen: {
      get columns() {
        return terminal.columns || 80;
      },
      get rows() {
        return terminal.rows || 24;
      },
      redraw: () => shown?.repeat(),
      send: (text) => {
        if (!isDumb || text.ansi === TerminalText.bell().ansi) writeText(terminal, text);
      },
      size: { pause() {}, resume() {} },
    },
    show(app, history) {
      const ended = Promise.withResolvers<void>();
      const screen = new PlainScreen({
        ...{ app, history, printer, terminal, stdin, clock, marksPastes: !isDumb },
        onEnd: () => ended.resolve(),
      });
      shown = screen;
      return { ended: ended.promise, hide: async () => screen.close() };
    },
    close: () => shown?.close(),
  };
}
