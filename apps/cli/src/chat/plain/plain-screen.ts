import type { Clock } from '@millrace/agent';
import type { Key } from '../../input/keys/key.ts';
import type { KeyRead } from '../../input/keys/key-reader.ts';
import { listenForKeys } from '../../input/keys/listen-for-keys.ts';
import { TerminalText, writeText } from '../../text/terminal/terminal-gate.ts';
import type { ChatApp } from '../chat-app.ts';
import type { Terminal } from '../contract/chat-options.ts';
import type { ChatHistory } from '../open-chat.ts';
import { clipText } from '../render/look.ts';
import { runKeyCommand } from '../screen/prompt-commands.ts';
import { routeKeys } from '../screen/route-keys.ts';
import { announcements, lastingActivity, type Situation, situationOf } from './announcements.ts';
import { LineWriter } from './line-writer.ts';
import { PlainDialogs } from './plain-dialogs.ts';
import type { PlainPrinter } from './plain-printer.ts';
import { PlainPrompt, textToCursor } from './plain-prompt.ts';
import { PlainSideInput } from './plain-side-input.ts';

interface PlainScreenOptions {
  readonly app: ChatApp;
  readonly history: ChatHistory;
  readonly printer: PlainPrinter;
  readonly terminal: Terminal;
  readonly stdin: NodeJS.ReadableStream;
  readonly clock: Clock;
  /** True if the terminal can mark pastes. */
  readonly marksPastes: boolean;
  /** Called if the input ends. */
  readonly onEnd: () => void;
}

/** An activity that lasts this long is announced. */
const lastingMs = 1000;
/** A longer text that is sent is shown shortened. */
const maxEchoed = 2000;
const maxRounds = 5;
/** The prompt is shown at the earliest after this time, when a text was sent. */
const promptPauseMs = 150;

/** Shows the chat as lines. Each change is printed once, at the end. Only the line that the user types stays open. */
export class PlainScreen {
  readonly #options: PlainScreenOptions;
  readonly #out: LineWriter;
  readonly #prompt: PlainPrompt;
  readonly #side: PlainSideInput;
  readonly #dialogs: PlainDialogs;
  readonly #cleanups: (() => void)[] = [];
  #stopListening: (() => void) | undefined;
  #printedNumber = 0;
  /** Lines of the chat that are not printed yet. */
  #fresh: readonly string[] = [];
  #situation: Situation | undefined;
  #hint: string | undefined;
  #notice: string | undefined;
  #cursor = 0;
  #text = '';
  #lasting: { readonly text: string; readonly cancel: () => void } | undefined;
  /** True while changes are collected, so that they are printed together. */
  #isBusy = false;
  #isStale = false;
  /** Ends the pause after a sent text. Undefined if there is none. */
  #cancelPause: (() => void) | undefined;
  /** The key that may answer the open question. */
  #lastKey = '';
  #isClosed = false;

  constructor(options: PlainScreenOptions) {
    const { app, history, printer, terminal } = options;
    this.#options = options;
    this.#out = new LineWriter(terminal);
    const print = (texts: readonly string[]) => {
      this.#say(texts);
      this.#update();
    };
    this.#prompt = new PlainPrompt({ app, history, print, onSend: this.#expect(printer) });
    this.#side = new PlainSideInput(app, print);
    this.#dialogs = new PlainDialogs({
      ...{ app, out: this.#out, clock: options.clock, update: this.#update },
      promptLength: () => this.#prompt.state.text.length,
    });
    const { editor } = this.#prompt;
    this.#cleanups.push(
      app.display.subscribe(this.#collect),
      editor.subscribe(this.#update),
      this.#side.editor.subscribe(this.#update),
      app.onPrompt({
        putBack: (text) => editor.dispatch({ type: 'put_back', text }),
        set: (text, typed) => editor.dispatch({ type: 'set', text, typed }),
        text: () => this.#prompt.state.text,
        history: () => this.#prompt.state.history,
      }),
      app.onSuspend(async (work) => {
        this.#release();
        await work().finally(() => this.#listen());
        this.repeat();
      }),
    );
    this.#listen();
    app.display.drawNow();
  }

  /** Prints the open question or the open line again. */
  repeat(): void {
    this.#out.close();
    const { list, sideInput } = this.#options.app.dialogs;
    if (list !== undefined && sideInput === undefined) this.#dialogs.forget();
    this.#options.app.display.drawNow();
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#lasting?.cancel();
    this.#cancelPause?.();
    for (const clean of this.#cleanups) clean();
    this.#prompt.close();
    this.#dialogs.close();
    this.#release();
  }

  #listen(): void {
    const { stdin, clock, terminal, marksPastes, onEnd } = this.#options;
    if (marksPastes) writeText(terminal, TerminalText.markPastes(true));
    const { signal } = new AbortController();
    this.#stopListening = listenForKeys(
      { stdin: stdin as Parameters<typeof listenForKeys>[0]['stdin'], signal, clock },
      { onRead: this.#read, onCancel: onEnd, takesTypeAhead: true },
    );
  }

  #release(): void {
    const { terminal, marksPastes } = this.#options;
    this.#out.close();
    this.#stopListening?.();
    this.#stopListening = undefined;
    if (marksPastes) writeText(terminal, TerminalText.markPastes(false));
  }

  readonly #read = (read: KeyRead): void => {
    const { app } = this.#options;
    const [key] = read.keys;
    this.#lastKey = read.isAlone && key?.type === 'text' ? key.text : '';
    this.#together(() =>
      routeKeys(app, read, {
        prompt: this.#prompt.press,
        side: this.#side.press,
        command: (key: Key) => runKeyCommand(app, key, this.#prompt.state.text),
        hasCommand: () => this.#prompt.state.text.startsWith('/'),
      }),
    );
    this.#update();
  };

  /** Shows a text that is sent, even if its keys arrived together. It is then not printed again. */
  #expect(printer: PlainPrinter): (text: string) => void {
    return (text) => {
      if (text.length > maxEchoed) return this.#out.close();
      this.#out.show(`> ${text}`);
      this.#out.close();
      printer.expect(text);
      // The run starts soon. Until then, there is no reason for a new prompt.
      this.#cancelPause?.();
      this.#cancelPause = this.#options.clock.after(promptPauseMs, () => {
        this.#cancelPause = undefined;
        this.#update();
      });
    };
  }

  /** Keeps the lines of each frame, because the next frame does not contain them. */
  readonly #collect = (): void => {
    const { printed } = this.#options.app.display.snapshot();
    if (printed.number !== this.#printedNumber) this.#fresh = [...this.#fresh, ...printed.lines];
    this.#printedNumber = printed.number;
    this.#update();
  };

  /** Prints what has changed since the last call. */
  readonly #update = (): void => {
    // Printing a dialog can change its state, which calls this function again.
    this.#isStale = true;
    // While the process is suspended, another program writes to the terminal.
    if (this.#isBusy || this.#stopListening === undefined) return;
    for (let rounds = 0; this.#isStale && rounds < maxRounds; rounds++) {
      this.#isStale = false;
      this.#together(() => {
        const isOthers = this.#printOutput();
        this.#dialogs.print(isOthers);
        this.#printPrompt();
      });
    }
  };

  #together(work: () => void): void {
    this.#isBusy = true;
    try {
      work();
    } finally {
      this.#isBusy = false;
    }
  }

  /** Prints new blocks and changes of the state. Returns true if there were any. */
  #printOutput(): boolean {
    const { app } = this.#options;
    const { look } = app.display;
    const { isOver } = app.display.snapshot();
    const fresh = this.#fresh;
    this.#fresh = [];
    if (isOver) {
      this.#out.lines(fresh);
      return false;
    }
    const before = this.#situation;
    const now = situationOf(look, app);
    this.#situation = now;
    const changes = announcements(look, before, now);
    this.#out.lines([...fresh, ...changes]);
    this.#awaitLasting(app.dialogs.list === undefined ? lastingActivity(look, now) : undefined);
    const { hint } = app;
    if (hint !== this.#hint && hint !== undefined) this.#say([hint]);
    this.#hint = hint;
    return fresh.length + changes.length > 0;
  }

  #awaitLasting(text: string | undefined): void {
    if (this.#lasting?.text === text) return;
    this.#lasting?.cancel();
    this.#lasting = undefined;
    if (text === undefined) return;
    const announce = () => {
      this.#out.lines([text]);
      this.#update();
    };
    this.#lasting = { text, cancel: this.#options.clock.after(lastingMs, announce) };
  }

  #printPrompt(): void {
    const { app } = this.#options;
    if (app.display.snapshot().isOver) return this.#out.close();
    const { state } = this.#prompt;
    const { notice, cursor, text } = state;
    if (notice !== undefined && notice !== this.#notice) this.#say([notice]);
    this.#notice = notice;
    const isMoved = cursor !== this.#cursor && text === this.#text;
    if (isMoved) {
      const rest = text.slice(cursor).split('\n', 1)[0] ?? '';
      this.#say([cursor === text.length ? 'Cursor at the end.' : `Cursor before: ${rest}`]);
    }
    this.#cursor = cursor;
    this.#text = text;
    const line = this.#openLine(textToCursor(state), text);
    if (line === undefined) this.#out.close();
    else this.#out.show(line);
  }

  /** Returns the text of the line in which the user types. */
  #openLine(typed: string, text: string): string | undefined {
    const { app } = this.#options;
    const { dialogs } = app;
    const { list, dialog, sideInput } = dialogs;
    if (sideInput !== undefined) return this.#side.line;
    if (dialog?.type === 'pick') return `Choice: ${dialogs.typedChoice ?? ''}`;
    if (list !== undefined && dialogs.readiness === 'ready') return 'Answer: ';
    if (list !== undefined && dialogs.readiness === 'held')
      return `Answer: ${clipText(this.#lastKey, 1)}`;
    const isQuiet = list !== undefined || app.isBusy || this.#cancelPause !== undefined;
    return isQuiet && text === '' ? undefined : `> ${typed}`;
  }

  /** Prints texts, which may be untrusted. */
  #say(texts: readonly string[]): void {
    const { look } = this.#options.app.display;
    this.#out.lines(texts.map((text) => clipText(text, look.width)));
  }
}
