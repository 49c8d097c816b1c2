import type { Clock } from '@millrace/agent';
import type { JsonValue } from '@millrace/core';
import type { ChangePreview, PermissionRule } from '@millrace/tools';
import {
  AnswerGuard,
  isCancelKey,
  keysForPrompt,
  type Refusal,
  refusalIn,
} from '../../input/answer/answer-guard.ts';
import type { Key } from '../../input/keys/key.ts';
import type { KeyRead } from '../../input/keys/use-keys.ts';
import type {
  ApprovalDialog,
  ChoiceList,
  ConfirmDialog,
  Dialog,
  OpenQuestion,
  PendingApproval,
  PickList,
} from '../contract/dialog.ts';
import type { ApprovalOptions } from '../session/session-commands.ts';
import {
  type ApprovalChoice,
  confirmAlways,
  confirmChanged,
  confirmSession,
  confirmWaiting,
} from './approval-choices.ts';
import {
  choiceListOf,
  dialogKey,
  FilteredPickList,
  isMoveKey,
  pressChoice,
} from './choice-list.ts';
import type { DialogReadiness } from './dialog-lines.ts';
import { type ContentView, ReadContent } from './read-content.ts';
import { answerInput, changedInputInput, denialReasonInput, type SideInput } from './side-input.ts';

interface DialogControllerOptions {
  readonly clock: Clock;
  readonly approvals: () => readonly PendingApproval[];
  readonly question: () => OpenQuestion | undefined;
  /** Whether an approval belongs to a sub-agent. */
  readonly isChild: (approval: PendingApproval) => boolean;
  /** The preview of a file change, if it is known. */
  readonly preview: (approval: PendingApproval) => ChangePreview | undefined;
  /** The rule that a permanent answer saves, if there is one. */
  readonly ruleToSave: (approval: PendingApproval) => PermissionRule | undefined;
  readonly approve: (approval: PendingApproval, how: ApprovalOptions) => Promise<void>;
  /** Approves, and allows the same for the rest of the session. */
  readonly approveForSession: (approval: PendingApproval) => Promise<void>;
  /** Approves, and saves the rule for this folder. */
  readonly approveAlways: (approval: PendingApproval, rule: PermissionRule) => Promise<void>;
  readonly deny: (approval: PendingApproval, reason: string | undefined) => Promise<void>;
  /** Prints the full content of the request. */
  readonly showInFull: (dialog: ApprovalDialog | ConfirmDialog) => void;
  /** Stops the run. */
  readonly stop: () => void;
  /** Lets an action run in the background and prints its error. */
  readonly runInBackground: (work: Promise<void>) => void;
  readonly onChange: () => void;
}

interface ShownDialog {
  readonly key: object | string;
  readonly list: ChoiceList;
  /** What the user has seen of the request. */
  readonly content: ReadContent;
  /** The user moves in the dialog, so further moves need no pause before them. */
  readonly isMoving: boolean;
}

/** A second step that waits for its confirmation. */
interface OpenConfirm {
  /** The approval that it belongs to. */
  readonly approvalKey: string;
  readonly dialog: ConfirmDialog;
  /** The key that opened it. It returns to the prompt if the user types on. */
  readonly openedBy: readonly Key[];
  readonly confirm: () => void;
}

/**
 * Selects the dialog to show and handles its keys. There is one dialog at a time; the others wait.
 *
 * An approval needs a single key press that stands alone (see `AnswerGuard`), after the whole
 * request was on the screen. All other text belongs to the prompt.
 */
export class DialogController {
  readonly #options: DialogControllerOptions;
  readonly #guard: AnswerGuard;
  /** Approvals that are answered here, although the log has not recorded it yet. */
  readonly #answered = new Set<object | string>();
  #pickList: FilteredPickList | undefined;
  #sideInput: SideInput | undefined;
  #confirm: OpenConfirm | undefined;
  /** The current dialog with its list. */
  #shownDialog: ShownDialog | undefined;

  constructor(options: DialogControllerOptions) {
    this.#options = options;
    const { clock, onChange } = options;
    this.#guard = new AnswerGuard({ clock, onChange });
  }

  get sideInput(): SideInput | undefined {
    return this.#sideInput;
  }

  get dialog(): Dialog | undefined {
    if (this.#pickList !== undefined) return { type: 'pick', pick: this.#pickList.list };
    const approval = this.#approvalDialog;
    if (approval !== undefined) {
      const isOpen = this.#confirm?.approvalKey === approvalKey(approval.approval);
      return isOpen && this.#confirm !== undefined ? this.#confirm.dialog : approval;
    }
    const open = this.#options.question();
    return open === undefined ? undefined : { type: 'question', question: open };
  }

  get #approvalDialog(): ApprovalDialog | undefined {
    const [first, ...others] = this.#unanswered;
    return first === undefined ? undefined : this.#dialogOf(first, others.length);
  }

  #dialogOf(approval: PendingApproval, others: number): ApprovalDialog {
    const { isChild, preview, ruleToSave } = this.#options;
    return {
      ...{ type: 'approval', approval, isChild: isChild(approval), others },
      ...{ preview: preview(approval), savedRule: ruleToSave(approval) },
    };
  }

  get #unanswered(): readonly PendingApproval[] {
    return this.#options.approvals().filter((one) => !this.#answered.has(approvalKey(one)));
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
      // The dialog was answered elsewhere, so the typed text is dropped.
      this.#sideInput = undefined;
      if (dialog.type !== 'confirm') this.#confirm = undefined;
      // Keys count only after the dialog is on the screen.
      this.#guard.close();
      const shown = { list: choiceListOf(dialog), content: new ReadContent(), isMoving: false };
      this.#shownDialog = { key, ...shown };
    } else if (dialog.type === 'approval') {
      // The number of waiting approvals can change.
      const list = withItems(this.#shownDialog.list, choiceListOf(dialog));
      this.#shownDialog = { ...this.#shownDialog, list };
    }
    return this.#shownDialog.list;
  }

  /** The first line of the request to show. */
  get contentFrom(): number {
    return this.#shownDialog?.content.from ?? 0;
  }

  get readiness(): DialogReadiness {
    if (this.#guard.heldKey !== undefined) return 'held';
    if (this.#shownDialog !== undefined && !this.#shownDialog.content.isComplete) return 'unread';
    return this.#guard.isQuiet ? 'ready' : 'waiting';
  }

  /** Records what a drawing of the dialog showed. Call it after the drawing is on the screen. */
  readonly markShown = (view: ContentView): void => {
    const shown = this.#shownDialog;
    if (shown === undefined || shown.key !== view.key || this.dialog === undefined) return;
    if (!shown.content.show(view)) return;
    this.#guard.restart();
    this.#options.onChange();
  };

  /** Forgets the shown dialog and cancels an answer that did not take effect yet. */
  close(): void {
    this.#guard.close();
    this.#sideInput = undefined;
    this.#confirm = undefined;
    this.#shownDialog = undefined;
  }

  pick(pick: PickList): void {
    this.#pickList = new FilteredPickList(pick);
    this.#options.onChange();
  }

  /** Handles the keys of one read. Returns the keys that belong to the prompt. */
  readonly read = (read: KeyRead): readonly Key[] => {
    const { dialog, list } = this;
    if (dialog === undefined || list === undefined) return read.keys;
    if (dialog.type === 'pick') return this.#readPick(read.keys);
    const isQuiet = this.#guard.isQuiet;
    const held = this.#guard.release();
    this.#guard.restart();
    const rest = this.#handle(dialog, list, { ...read, isQuiet, held });
    this.#options.onChange();
    return rest;
  };

  #handle(
    dialog: Exclude<Dialog, { readonly type: 'pick' }>,
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

  /** Moves the selection or scrolls. Neither answers, so further moves need no pause. */
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

  /** A single key press after a quiet period. */
  #press(
    dialog: Exclude<Dialog, { readonly type: 'pick' }>,
    list: ChoiceList,
    key: Key,
  ): readonly Key[] {
    if (dialog.type !== 'question' && isLetter(key, 'v')) {
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

  /** The user types a message. An open second step closes, because nobody answers it. */
  #typeOn(keys: readonly Key[]): readonly Key[] {
    const kept = keysForPrompt(keys);
    const opened = kept.length > 0 ? (this.#confirm?.openedBy ?? []) : [];
    if (kept.length > 0) this.#confirm = undefined;
    if (this.#shownDialog !== undefined)
      this.#shownDialog = { ...this.#shownDialog, isMoving: false };
    return [...opened, ...kept];
  }

  #refuse(dialog: ApprovalDialog | ConfirmDialog, { reason, isSent }: Refusal): readonly Key[] {
    if (dialog.type === 'confirm') this.#confirm = undefined;
    else if (isSent) this.#deny(dialog.approval, reason);
    else this.#askForReason(dialog.approval, reason);
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
    if (this.#pickList?.press(key) === true) return;
    const step = pressChoice(list, key);
    if (step.type === 'list') {
      if (this.#shownDialog !== undefined)
        this.#shownDialog = { ...this.#shownDialog, list: step.list };
      return;
    }
    this.#pickList = undefined;
    if (step.type === 'chosen') this.#options.runInBackground(pick.onPick(step.index));
    else this.#options.onChange();
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
    if (type === 'confirm') this.#confirm = undefined;
    else this.#options.stop();
  }

  #choose(
    dialog: Exclude<Dialog, { readonly type: 'pick' }>,
    chosen: { readonly index: number; readonly list: ChoiceList; readonly key: Key },
  ): void {
    const { index, list, key } = chosen;
    const isRead = this.#shownDialog?.content.isComplete === true;
    switch (dialog.type) {
      case 'question':
        return this.#answer(dialog.question, chosen);
      case 'approval':
        return this.#decide(dialog, (list.items[index] as ApprovalChoice).action, { key, isRead });
      case 'confirm': {
        const open = this.#confirm;
        if (index === list.items.length - 1) this.#confirm = undefined;
        else if (isRead && open !== undefined) this.#guard.hold(key, open.confirm);
        return;
      }
    }
  }

  #decide(
    dialog: ApprovalDialog,
    action: ApprovalChoice['action'],
    { key, isRead }: { readonly key: Key; readonly isRead: boolean },
  ): void {
    const { approval } = dialog;
    const { approve } = this.#options;
    if (action === 'deny')
      return key.type === 'text' ? this.#askForReason(approval) : this.#deny(approval, undefined);
    if (action === 'change') return this.#changeInput(dialog);
    // Nothing that was not shown can be approved.
    if (!isRead) return;
    if (action === 'once')
      return this.#guard.hold(key, () => this.#submitAnswer(approval, () => approve(approval, {})));
    return this.#openConfirm(dialog, action, key);
  }

  /** Opens the second step of an answer that allows more than this call. */
  #openConfirm(dialog: ApprovalDialog, action: 'session' | 'waiting' | 'always', key: Key): void {
    const { approval, savedRule } = dialog;
    const { approve, approveForSession, approveAlways } = this.#options;
    const open = (confirm: ConfirmDialog, onYes: () => void) =>
      this.#setConfirm(approval, confirm, onYes, key);
    switch (action) {
      case 'session':
        return open(confirmSession(dialog), () =>
          this.#submitAnswer(approval, () => approveForSession(approval)),
        );
      case 'always':
        if (savedRule === undefined) return;
        return open(confirmAlways(savedRule), () =>
          this.#submitAnswer(approval, () => approveAlways(approval, savedRule)),
        );
      case 'waiting': {
        // Calls that arrive later are not in the list, so the answer does not apply to them.
        const waiting = this.#unanswered;
        return open(confirmWaiting(waiting.map((one) => this.#dialogOf(one, 0))), () => {
          const open = new Set(this.#unanswered.map(approvalKey));
          for (const one of waiting)
            if (open.has(approvalKey(one))) this.#submitAnswer(one, () => approve(one, {}));
        });
      }
    }
  }

  #setConfirm(
    approval: PendingApproval,
    dialog: ConfirmDialog,
    onYes: () => void,
    openedBy?: Key,
  ): void {
    this.#confirm = {
      ...{ approvalKey: approvalKey(approval), dialog },
      openedBy: openedBy === undefined ? [] : keysForPrompt([openedBy]),
      confirm: () => {
        this.#confirm = undefined;
        onYes();
      },
    };
  }

  #changeInput(dialog: ApprovalDialog): void {
    const { approval } = dialog;
    const { approve } = this.#options;
    this.#sideInput = changedInputInput(approval, (input: JsonValue) => {
      // The preview shows the change of the old input.
      const request = { ...dialog, preview: undefined, approval: { ...approval, input } };
      this.#setConfirm(approval, confirmChanged(request), () =>
        this.#submitAnswer(approval, () => approve(approval, { input })),
      );
    });
  }

  #askForReason(approval: PendingApproval, text?: string): void {
    this.#sideInput = denialReasonInput(approval, (reason) => this.#deny(approval, reason), text);
  }

  #deny(approval: PendingApproval, reason: string | undefined): void {
    this.#submitAnswer(approval, () => this.#options.deny(approval, reason));
  }

  /** Hides an approval at once and shows it again if the answer cannot be submitted. */
  #submitAnswer(approval: PendingApproval, answer: () => Promise<void>): void {
    const key = approvalKey(approval);
    this.#answered.add(key);
    const answered = answer().catch((error: unknown) => {
      this.#answered.delete(key);
      throw error;
    });
    this.#options.runInBackground(answered);
  }

  /** The last two choices are to type an answer and to give none. */
  #answer(
    question: OpenQuestion,
    {
      index,
      list: { items, ticked },
      key,
    }: { readonly index: number; readonly list: ChoiceList; readonly key: Key },
  ): void {
    const { options, answer } = question;
    if (index === items.length - 2) {
      this.#sideInput = answerInput(question);
      return;
    }
    if (index === items.length - 1) return this.#guard.hold(key, () => answer(undefined));
    const chosen = ticked === undefined || ticked.size === 0 ? [index] : [...ticked].sort();
    const labels = chosen.flatMap((one) => options[one]?.label ?? []);
    this.#guard.hold(key, () => answer(question.multiple ? labels : labels[0]));
  }
}

function approvalKey({ session, id }: PendingApproval): string {
  return `${session} ${id}`;
}

/** Replaces the items and keeps the selection. */
function withItems(list: ChoiceList, { items }: ChoiceList): ChoiceList {
  const letter = list.items[list.selected]?.letter;
  const index = items.findIndex((item) => item.letter === letter);
  return { ...list, items, selected: index === -1 ? items.length - 1 : index };
}

function isLetter(key: Key, letter: string): boolean {
  return key.type === 'text' && key.text.toLowerCase() === letter;
}

/** Returns how far a key scrolls the request. Space scrolls only if nobody types. */
function scrollPages(key: Key, canUseSpace: boolean): number | undefined {
  if (key.type === 'text') return canUseSpace && key.text === ' ' ? 1 : undefined;
  if (key.type !== 'key') return undefined;
  if (key.name === 'page_down') return 1;
  return key.name === 'page_up' ? -1 : undefined;
}
