import type { Clock } from '@millrace/agent';
import {
  AnswerGuard,
  isCancelKey,
  keysForPrompt,
  type Refusal,
  refusalIn,
} from '../../input/answer/answer-guard.ts';
import type { Key } from '../../input/keys/key.ts';
import type { KeyRead } from '../../input/keys/key-reader.ts';
import type {
  ApprovalDialog,
  ChoiceList,
  ConfirmDialog,
  Dialog,
  ItemEdit,
  OpenQuestion,
  PickList,
  QuestionDialog,
} from '../contract/dialog.ts';
import { ApprovalAnswers, type ApprovalAnswersOptions } from './approval-answers.ts';
import type { ApprovalChoice } from './approval-choices.ts';
import {
  choiceListOf,
  dialogKey,
  FilteredPickList,
  isMoveKey,
  NumberedPickList,
  pressChoice,
} from './choice-list.ts';
import type { DialogReadiness } from './dialog-lines.ts';
import { type ContentView, ReadContent } from './read-content.ts';
import { answerInput, type SideInput } from './side-input.ts';

interface DialogControllerOptions extends ApprovalAnswersOptions {
  readonly clock: Clock;
  readonly question: () => OpenQuestion | undefined;
  /** Prints the full content of the request. */
  readonly showInFull: (dialog: ApprovalDialog | ConfirmDialog | QuestionDialog) => void;
  /** True if the screen shows the number of each choice, as in the plain mode. Default: false. */
  readonly isNumbered?: boolean | undefined;
  /** Stops the run. */
  readonly stop: () => void;
  readonly onChange: () => void;
}

interface ShownDialog {
  readonly key: object | string;
  readonly list: ChoiceList;
  /** Records which lines of the request the user has seen. */
  readonly content: ReadContent;
  /**
   * True if the last key moved the selection or scrolled. In this case, further moves need no pause
   * before them.
   */
  readonly isMoving: boolean;
}

/**
 * A dialog that the user could answer by accident. Pick lists are excluded, because the user opens
 * them with a command.
 */
type GuardedDialog = Exclude<Dialog, { readonly type: 'pick' }>;

/** The index of a choice, and the key that chose it. */
interface Chosen {
  readonly index: number;
  readonly list: ChoiceList;
  readonly key: Key;
}

/**
 * Selects the dialog to show and handles its keys. It shows one dialog at a time. All other dialogs
 * wait.
 *
 * To approve or to answer a question, the user must press a single key after a pause (see
 * `AnswerGuard`). Before that, the whole request must have been on the screen. All other text goes
 * to the prompt.
 */
export class DialogController {
  readonly #options: DialogControllerOptions;
  readonly #guard: AnswerGuard;
  readonly #approvals: ApprovalAnswers;
  #pickList: FilteredPickList | NumberedPickList | undefined;
  #sideInput: SideInput | undefined;
  /** The current dialog and its choices. */
  #shownDialog: ShownDialog | undefined;
  /**
   * True if the user just pressed `y` and Enter together, or typed "yes". Neither approves, because
   * an approval needs a single key.
   */
  #isTogether = false;

  constructor(options: DialogControllerOptions) {
    this.#options = options;
    const { clock, onChange } = options;
    this.#guard = new AnswerGuard({ clock, onChange });
    this.#approvals = new ApprovalAnswers(options);
  }

  /** The text that the user typed to choose from a list. Undefined if no list is open. */
  get typedChoice(): string | undefined {
    return this.#pickList?.typed;
  }

  get sideInput(): SideInput | undefined {
    return this.#sideInput;
  }

  get dialog(): Dialog | undefined {
    if (this.#pickList !== undefined) return { type: 'pick', pick: this.#pickList.list };
    const request = this.#approvals.dialog;
    if (request !== undefined) return request;
    const open = this.#options.question();
    return open === undefined ? undefined : { type: 'question', question: open };
  }

  /** The choices of the current dialog. */
  get list(): ChoiceList | undefined {
    const { dialog } = this;
    if (dialog === undefined) {
      this.close();
      return undefined;
    }
    const key = dialogKey(dialog);
    if (this.#shownDialog?.key !== key) {
      // A new dialog replaced the previous one, which was answered elsewhere. So the text typed for
      // it is dropped.
      this.#sideInput = undefined;
      if (dialog.type !== 'confirm') this.#approvals.closeConfirm();
      // Keys do not answer the dialog until it is on the screen.
      this.#guard.close();
      const shown = { list: this.#listOf(dialog), content: new ReadContent(), isMoving: false };
      this.#shownDialog = { key, ...shown };
    } else if (dialog.type === 'approval') {
      // The number of waiting approvals can change, and with it the choices.
      const list = withItems(this.#shownDialog.list, this.#listOf(dialog));
      this.#shownDialog = { ...this.#shownDialog, list };
    }
    return this.#shownDialog.list;
  }

  #listOf(dialog: Dialog): ChoiceList {
    return choiceListOf(dialog, this.#options.isNumbered);
  }

  /** The index of the first visible line of the request. Scrolling changes it. */
  get contentFrom(): number {
    return this.#shownDialog?.content.from ?? 0;
  }

  get readiness(): DialogReadiness {
    if (this.#guard.heldKey !== undefined) return 'held';
    if (this.#shownDialog !== undefined && !this.#shownDialog.content.isComplete) return 'unread';
    if (this.#guard.isQuiet) return 'ready';
    return this.#isTogether ? 'together' : 'waiting';
  }

  /** Records which lines of a dialog were drawn. Call it after the terminal has shown them. */
  readonly markShown = (view: ContentView): void => {
    const shown = this.#shownDialog;
    if (shown === undefined || shown.key !== view.key || this.dialog === undefined) return;
    if (!shown.content.show(view)) return;
    this.#guard.restart();
    this.#options.onChange();
  };

  /**
   * Call it when the screen no longer shows the chat, or only garbled. No key answers until the dialog was drawn again
   * and the quiet period after that has ended.
   */
  readonly hide = (): void => {
    this.#guard.close();
    this.#shownDialog?.content.hide();
  };

  /** Starts the quiet period again, because the dialog was shown again after other text. */
  readonly markRepeated = (): void => this.#guard.restart();

  /** Closes the current dialog and cancels an answer that has not taken effect yet. */
  close(): void {
    this.#guard.close();
    this.#sideInput = undefined;
    this.#approvals.closeConfirm();
    this.#shownDialog = undefined;
    this.#isTogether = false;
  }

  pick(pick: PickList): void {
    const { isNumbered = false } = this.#options;
    this.#pickList = isNumbered ? new NumberedPickList(pick) : new FilteredPickList(pick);
    this.#options.onChange();
  }

  /** Handles keys that arrived together. Returns the keys that belong to the prompt. */
  readonly read = (read: KeyRead): readonly Key[] => {
    const { dialog, list } = this;
    if (dialog === undefined || list === undefined) return read.keys;
    if (dialog.type === 'pick') return this.#readPick(read.keys);
    const isQuiet = this.#guard.isQuiet;
    const held = this.#guard.release();
    this.#guard.restart();
    this.#isTogether = false;
    const rest = this.#handle(dialog, list, { ...read, isQuiet, held });
    this.#options.onChange();
    return rest;
  };

  #handle(
    dialog: GuardedDialog,
    list: ChoiceList,
    {
      keys,
      isAlone,
      isQuiet,
      held,
    }: KeyRead & { readonly isQuiet: boolean; readonly held: Key | undefined },
  ): readonly Key[] {
    if (keys.some(isCancelKey)) {
      this.#cancel(dialog);
      return keysForPrompt(keys);
    }
    const [key] = keys;
    if (key === undefined || this.#move(keys, isQuiet)) return [];
    if (isQuiet && isAlone) return this.#press(dialog, list, key);
    const refusal = isQuiet ? refusalIn({ keys, isAlone }) : undefined;
    if (refusal !== undefined && dialog.type !== 'question') return this.#refuse(dialog, refusal);
    return this.#typeOn(held === undefined ? keys : [held, ...keys]);
  }

  /**
   * Moves the selection or scrolls the content. These keys are not answers, so they need no pause
   * between them.
   */
  #move(keys: readonly Key[], isQuiet: boolean): boolean {
    const shown = this.#shownDialog;
    if (shown === undefined) return false;
    const canMove = isQuiet || shown.isMoving;
    const isScroll = (key: Key) => scrollPages(key, canMove && !shown.list.ticked) !== undefined;
    if (!keys.every((key) => isScroll(key) || isMoveKey(key))) return false;
    let { list } = shown;
    for (const key of keys) {
      if (isScroll(key)) shown.content.scroll(scrollPages(key, true) ?? 0);
      else if (canMove) {
        const step = pressChoice(list, key);
        if (step.type === 'list') list = step.list;
      }
    }
    this.#shownDialog = { ...shown, list, isMoving: canMove };
    return true;
  }

  /** Handles a single key that the user pressed after a pause. */
  #press(dialog: GuardedDialog, list: ChoiceList, key: Key): readonly Key[] {
    // The key V prints the full content. If a question is already visible in full, V is the first letter of
    // a typed message instead.
    const canPrint = dialog.type !== 'question' || this.readiness === 'unread';
    if (canPrint && isLetter(key, 'v')) {
      this.#options.showInFull(dialog);
      this.#shownDialog?.content.showAll();
      return [];
    }
    const step = pressChoice(list, key);
    if (step.type === 'chosen') {
      this.#choose(dialog, { index: step.index, list, key });
      return [];
    }
    const isTick = step.type === 'list' && step.list !== list;
    if (!isTick || this.#shownDialog === undefined) return this.#typeOn([key]);
    this.#shownDialog = { ...this.#shownDialog, list: step.list, isMoving: true };
    return [];
  }

  /**
   * Handles keys that are part of a message. They are not an answer, so an open confirmation
   * closes.
   */
  #typeOn(keys: readonly Key[]): readonly Key[] {
    const kept = keysForPrompt(keys);
    const opened = kept.length > 0 ? this.#approvals.closeConfirm() : [];
    this.#isTogether = isYesAndMore(keys);
    if (this.#shownDialog !== undefined)
      this.#shownDialog = { ...this.#shownDialog, isMoving: false };
    return [...opened, ...kept];
  }

  #refuse(dialog: ApprovalDialog | ConfirmDialog, { reason, isSent }: Refusal): readonly Key[] {
    if (dialog.type === 'confirm') this.#approvals.closeConfirm();
    else if (isSent) this.#approvals.deny(dialog.approval, reason);
    else this.#sideInput = this.#approvals.reasonInput(dialog.approval, reason);
    return [];
  }

  #readPick(keys: readonly Key[]): readonly Key[] {
    for (const [index, key] of keys.entries()) {
      const { list, dialog } = this;
      if (dialog?.type !== 'pick' || list === undefined) return keysForPrompt(keys.slice(index));
      this.#pressPick(dialog.pick, list, key);
    }
    this.#options.onChange();
    return [];
  }

  #pressPick(pick: PickList, list: ChoiceList, key: Key): void {
    if (pick.edit !== undefined && isEditKey(key)) return this.#editItem(pick.edit, list);
    const typed = this.#pickList?.press(key);
    if (typed === true) return;
    const step = typeof typed === 'object' ? typed : pressChoice(list, key);
    if (step.type === 'list') {
      if (this.#shownDialog !== undefined)
        this.#shownDialog = { ...this.#shownDialog, list: step.list };
      return;
    }
    this.#pickList = undefined;
    if (step.type === 'chosen') this.#options.runInBackground(pick.onPick(step.index));
    else pick.onCancel?.();
    this.#options.onChange();
  }

  /** Opens a text field for the selected item of a list. The list stays open behind it. */
  #editItem({ title, text: textAt, onSubmit }: ItemEdit, list: ChoiceList): void {
    const index = this.#pickList?.editedItem(list) ?? -1;
    const text = textAt(index);
    if (text === undefined) return;
    this.#sideInput = {
      ...{ title, text, mayBeEmpty: true },
      onSubmit: (typed) => {
        this.#options.runInBackground(onSubmit(index, typed));
        return undefined;
      },
    };
  }

  submitSideInput(text: string): string | undefined {
    const problem = this.#sideInput?.onSubmit(text);
    if (problem === undefined) this.cancelSideInput();
    else this.#options.onChange();
    return problem;
  }

  cancelSideInput(): void {
    this.#sideInput = undefined;
    this.#guard.restart();
    this.#options.onChange();
  }

  #cancel({ type }: Dialog): void {
    if (type === 'confirm') this.#approvals.closeConfirm();
    else this.#options.stop();
  }

  #choose(dialog: GuardedDialog, chosen: Chosen): void {
    switch (dialog.type) {
      case 'question':
        return this.#answer(dialog.question, chosen);
      case 'approval':
        return this.#decide(dialog, chosen);
      case 'confirm': {
        const isBack = chosen.index === chosen.list.items.length - 1;
        if (isBack) this.#approvals.closeConfirm();
        else if (this.#isReadAs(dialog))
          this.#guard.hold(chosen.key, () => this.#approvals.confirm());
      }
    }
  }

  /**
   * Returns true if all lines of the request, with its current preview, were on the screen. The
   * preview may have changed since the last drawing.
   */
  #isReadAs(dialog: ApprovalDialog | ConfirmDialog): boolean {
    const content = this.#shownDialog?.content;
    const preview = dialog.type === 'approval' ? dialog.preview : undefined;
    return content?.isComplete === true && content.preview === preview;
  }

  #decide(dialog: ApprovalDialog, { index, list, key }: Chosen): void {
    const { approval } = dialog;
    const { action } = list.items[index] as ApprovalChoice;
    switch (action) {
      case 'deny':
        if (key.type === 'text') this.#sideInput = this.#approvals.reasonInput(approval);
        else this.#approvals.deny(approval, undefined);
        return;
      case 'change':
        this.#sideInput = this.#approvals.changeInput(dialog);
        return;
      case 'once':
        if (this.#isReadAs(dialog))
          this.#guard.hold(key, () => this.#approvals.approveOnce(dialog));
        return;
      case 'session':
      case 'waiting':
      case 'always':
        if (this.#isReadAs(dialog)) this.#approvals.openConfirm(dialog, action, key);
    }
  }

  /**
   * Submits the answer to a question. The last two choices are "type an answer" and "no answer".
   * Before the whole question was on the screen, only "no answer" works.
   */
  #answer(question: OpenQuestion, { index, list: { items, ticked }, key }: Chosen): void {
    const { options, answer } = question;
    if (index === items.length - 1) return this.#guard.hold(key, () => answer(undefined));
    if (this.#shownDialog?.content.isComplete !== true) return;
    if (index === items.length - 2) {
      this.#sideInput = answerInput(question);
      return;
    }
    const chosen = ticked === undefined || ticked.size === 0 ? [index] : [...ticked].sort();
    const labels = chosen.flatMap((one) => options[one]?.label ?? []);
    this.#guard.hold(key, () => answer(question.multiple ? labels : labels[0]));
  }
}

/** Replaces the items and keeps the selection. */
function withItems(list: ChoiceList, { items }: ChoiceList): ChoiceList {
  const letter = list.items[list.selected]?.letter;
  const index = items.findIndex((item) => item.letter === letter);
  return { ...list, items, selected: index === -1 ? items.length - 1 : index };
}

function isEditKey(key: Key): boolean {
  return key.type === 'chord' && key.ctrl && key.char === 'e';
}

/** Returns true if the user pressed `y` and Enter together, or typed "yes". */
function isYesAndMore(keys: readonly Key[]): boolean {
  const text = keys.map((key) => (key.type === 'text' ? key.text : '')).join('');
  const hasEnter = keys.some((key) => key.type === 'key' && key.name === 'enter');
  return /^y$/i.test(text) ? hasEnter : /^yes$/i.test(text);
}

function isLetter(key: Key, letter: string): boolean {
  return key.type === 'text' && key.text.toLowerCase() === letter;
}

/**
 * Returns the number of pages by which a key scrolls the request. Space scrolls only if
 * `canUseSpace` is true.
 */
function scrollPages(key: Key, canUseSpace: boolean): number | undefined {
  if (key.type === 'text') return canUseSpace && key.text === ' ' ? 1 : undefined;
  if (key.type !== 'key') return undefined;
  if (key.name === 'page_down') return 1;
  return key.name === 'page_up' ? -1 : undefined;
}
