import type { Log } from '@millrace/log';
import type { Key } from '../../input/keys/key.ts';
import { TerminalText } from '../../text/terminal/terminal-gate.ts';
import type { Conversation } from '../session/conversation.ts';
import type { Display } from './display.ts';
import { maxLiveRows } from './screen-layout.ts';
import type { ScreenOutput } from './screen-output.ts';
import { SessionPager } from './session-pager.ts';

interface ScrollBackOptions {
  readonly log: Log;
  readonly display: Display;
  readonly screen: Pick<ScreenOutput, 'send' | 'redraw'>;
  readonly conversation: () => Conversation;
  readonly onError: (error: unknown) => void;
}

/**
 * PageUp shows the earlier messages of the session, which may not be in the scrollback of the terminal. Esc returns
 * to the chat.
 */
export class ScrollBack {
  readonly #options: ScrollBackOptions;
  #pager: SessionPager | undefined;

  constructor(options: ScrollBackOptions) {
    this.#options = options;
  }

  /** The lines that replace the chat. Undefined while the chat is shown. */
  get lines(): readonly string[] | undefined {
    return this.#pager?.draw();
  }

  /** Handles a key. While earlier messages are shown, no key reaches the prompt. */
  press(key: Key): boolean {
    if (this.#pager === undefined) {
      if (key.type !== 'key' || key.name !== 'page_up') return false;
      return this.#open();
    }
    const isChord = key.type === 'chord' && key.ctrl && (key.char === 'c' || key.char === 'd');
    if (isChord || (key.type === 'key' && (key.name === 'escape' || key.name === 'enter')))
      this.leave();
    else this.#pager.press(key);
    return true;
  }

  /** Returns to the chat at once, because the chat ends. */
  close(): void {
    this.#pager?.close();
    this.#pager = undefined;
    if (this.#options.display.keepsBlocks) this.#closeScreen();
  }

  /** Returns to the chat. The low frame of the chat is first drawn on the second screen, so that its height is known. */
  leave(): void {
    if (this.#pager === undefined) return;
    this.#pager.close();
    this.#pager = undefined;
    this.#options.display.drawNow();
    setImmediate(() => {
      if (this.#pager === undefined && this.#options.display.keepsBlocks) this.#closeScreen();
    });
  }

  #closeScreen(): void {
    const { screen, display } = this.#options;
    screen.send(TerminalText.closeScreen());
    screen.redraw();
    display.keepsBlocks = false;
    display.requestDraw();
  }

  #open(): boolean {
    const { log, display, screen, conversation, onError } = this.#options;
    const { session, lastPause: through } = conversation();
    if (through === 0 || display.look.isPlain === true) return false;
    // On the second screen of the terminal, the scrollback stays as it is.
    screen.send(TerminalText.openScreen());
    display.keepsBlocks = true;
    this.#pager = new SessionPager({
      ...{ log, session, through, onError, look: () => display.look },
      height: () => maxLiveRows(display.rows),
      onChange: () => display.drawNow(),
    });
    display.drawNow();
    return true;
  }
}
