import type { Key } from '../../input/keys/key.ts';
import { EditorStore, pressInEditor } from '../../input/prompt/editor-store.ts';
import type { ChatApp } from '../chat-app.ts';
import type { SideInput } from '../dialog/side-input.ts';
import { textToCursor } from './plain-prompt.ts';

/** The text field of the plain mode for a reason, an answer or a changed input. */
export class PlainSideInput {
  readonly editor: EditorStore = new EditorStore();
  readonly #app: ChatApp;
  readonly #print: (lines: readonly string[]) => void;
  #opened: SideInput | undefined;

  constructor(app: ChatApp, print: (lines: readonly string[]) => void) {
    this.#app = app;
    this.#print = print;
  }

  /** The line in which the user types. If the field has just opened, prints its title. */
  get line(): string {
    this.#open();
    return `Text: ${textToCursor(this.editor.snapshot().state)}`;
  }

  readonly press = (key: Key): void => {
    this.#open();
    const { dialogs } = this.#app;
    const isEmpty = this.editor.snapshot().state.text.trim() === '';
    if (isBack(key)) return dialogs.cancelSideInput();
    if (isEnter(key) && isEmpty && dialogs.sideInput?.mayBeEmpty === true)
      return void dialogs.submitSideInput('');
    pressInEditor(this.editor, key, {
      onSubmit: (text) => {
        const problem = dialogs.submitSideInput(text);
        if (problem === undefined) return;
        this.editor.dispatch({ type: 'set', text });
        this.#print([problem]);
      },
      ...{ onStop: this.#app.stop, onLeave: () => dialogs.cancelSideInput() },
      ...{ isBusy: false, width: 2 ** 20 },
    });
  };

  #open(): void {
    const { sideInput } = this.#app.dialogs;
    if (sideInput === this.#opened) return;
    this.#opened = sideInput;
    if (sideInput === undefined) return;
    this.#print([sideInput.title]);
    this.editor.dispatch({ type: 'set', text: sideInput.text });
  }
}

function isBack(key: Key): boolean {
  if (key.type === 'key') return key.name === 'escape';
  return key.type === 'chord' && key.ctrl && key.char === 'c';
}

function isEnter(key: Key): boolean {
  return key.type === 'key' && key.name === 'enter' && !key.shift && !key.alt && !key.ctrl;
}
