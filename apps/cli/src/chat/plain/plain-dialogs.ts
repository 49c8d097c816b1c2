import type { Clock } from '@millrace/agent';
import { withLargestWidths } from '../../text/cells/cell-width.ts';
import type { ChatApp } from '../chat-app.ts';
import type { ChoiceList, Dialog } from '../contract/dialog.ts';
import { changesFile } from '../dialog/change-previews.ts';
import { dialogKey } from '../dialog/choice-list.ts';
import { choiceText, dialogText } from './dialog-text.ts';
import type { LineWriter } from './line-writer.ts';

interface PlainDialogsOptions {
  readonly app: ChatApp;
  readonly out: LineWriter;
  readonly clock: Clock;
  /** The length of the text in the prompt. */
  readonly promptLength: () => number;
  /** Prints what has changed. */
  readonly update: () => void;
}

/** The dialog that was printed last. */
interface PrintedDialog {
  readonly key: object | string;
  readonly text: string;
  readonly list: ChoiceList;
  /** The length of the prompt when the dialog was printed. */
  readonly promptLength: number;
  /** True after the hint that the first keys came too early to be an answer. */
  readonly isHinted: boolean;
}

/** The time to wait for the preview of a change, so that its question is printed only once. */
const previewMs = 200;
/** The indent of the rows of a question after the first one, so that no row of its content looks like ours. */
const hang = '  ';
const earlyHint = 'These keys did not answer. Wait one second without typing, then press one key.';

/** Prints questions and lists of the chat as numbered lines. */
export class PlainDialogs {
  readonly #options: PlainDialogsOptions;
  #dialog: PrintedDialog | undefined;
  /** The dialog whose preview is awaited, or did not arrive in time. */
  #withoutPreview: object | string | undefined;
  #cancelPreview: (() => void) | undefined;

  constructor(options: PlainDialogsOptions) {
    this.#options = options;
  }

  /** Prints the open dialog again with the next call of `print`. */
  forget(): void {
    this.#dialog = undefined;
  }

  close(): void {
    this.#cancelPreview?.();
  }

  /**
   * Prints the open dialog, or what has changed in it. `isOthers` is true if other text was printed since. The
   * question is then repeated.
   */
  print(isOthers: boolean): void {
    const { app } = this.#options;
    const { dialogs, display } = app;
    const { list, dialog, sideInput } = dialogs;
    const before = this.#dialog;
    if (display.snapshot().isOver || sideInput !== undefined) return;
    if (dialog === undefined || list === undefined) {
      this.#dialog = undefined;
      return;
    }
    if (this.#isPreviewDue(dialog)) return;
    const { look } = display;
    const { columns } = this.#options.out;
    const { lines, hint, view } = dialogText(look, dialog, { list, columns });
    const text = view.content.join('\n') + lines[0] + list.items.length;
    const isSame = before?.key === view.key && before.text === text;
    const promptLength = this.#options.promptLength();
    if (!isSame || isOthers) {
      withLargestWidths(() => this.#options.out.lines(lines, { hang, showsSpaces: true }));
      withLargestWidths(() => this.#options.out.lines([hint], { hang }));
      this.#dialog = {
        key: view.key,
        text,
        list,
        promptLength,
        isHinted: before?.isHinted ?? false,
      };
      dialogs.markShown(view);
      // Other text may have moved the question out of sight, or may look like it. Its numbers may have changed.
      const isRepeated = before?.key === view.key;
      if (isRepeated && dialog.type !== 'pick') dialogs.markRepeated();
      return;
    }
    this.#printSelection(before.list, list);
    const isEarly = !before.isHinted && promptLength > before.promptLength;
    if (isEarly && dialog.type !== 'pick') this.#options.out.lines([earlyHint]);
    this.#dialog = { ...before, list, isHinted: before.isHinted || isEarly };
  }

  /** Returns true if the preview of a new question may still arrive. */
  #isPreviewDue(dialog: Dialog): boolean {
    const key = dialogKey(dialog);
    if (dialog.type !== 'approval' || dialog.preview !== undefined) return false;
    if (!changesFile(dialog.approval) || this.#dialog?.key === key) return false;
    if (this.#withoutPreview === key) return this.#cancelPreview !== undefined;
    this.#withoutPreview = key;
    this.#cancelPreview?.();
    this.#cancelPreview = this.#options.clock.after(previewMs, () => {
      this.#cancelPreview = undefined;
      this.#options.update();
    });
    return true;
  }

  #printSelection(before: ChoiceList, list: ChoiceList): void {
    const { selected, ticked } = list;
    const wasTicked = before.ticked?.has(selected);
    if (before.selected === selected && wasTicked === ticked?.has(selected)) return;
    const { look } = this.#options.app.display;
    const tick = ticked !== undefined && !ticked.has(selected) ? ', not ticked' : '';
    this.#options.out.lines([`${choiceText(look, list, selected)}${tick}`], { hang });
  }
}
