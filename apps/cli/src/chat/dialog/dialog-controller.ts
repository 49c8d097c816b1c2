import type { Clock } from '@millrace/agent';
import type { ChangePreview } from '@millrace/tools';
import type { Key } from '../../input/keys/key.ts';
import type {
  ApprovalDialog,
  ChoiceList,
  Dialog,
  OpenQuestion,
  PendingApproval,
  PickList,
} from '../contract/dialog.ts';
import type { ApprovalOptions } from '../session/session-commands.ts';
import type { ApprovalAction, ApprovalChoice } from './approval-choices.ts';
import { choiceListOf, dialogKey, FilteredPickList, pressChoice } from './choice-list.ts';
import { answerInput, changedInputInput, denialReasonInput, type SideInput } from './side-input.ts';

interface DialogControllerOptions {
  readonly clock: Clock;
  readonly approvals: () => readonly PendingApproval[];
  readonly question: () => OpenQuestion | undefined;
  /** Whether an approval belongs to a sub-agent. */
  readonly isChild: (approval: PendingApproval) => boolean;
  /** The preview of a file change, if it is known. */
  readonly preview: (approval: PendingApproval) => ChangePreview | undefined;
  readonly approve: (approval: PendingApproval, how: ApprovalOptions) => Promise<void>;
  /** Approves, and allows the same for the rest of the session. */
  readonly approveForSession: (approval: PendingApproval) => Promise<void>;
  /** Approves, and always allows the same in this folder. */
  readonly approveAlways: (approval: PendingApproval) => Promise<void>;
  readonly deny: (approval: PendingApproval, reason: string | undefined) => Promise<void>;
  /** Prints the full content of the request. */
  readonly showInFull: (dialog: ApprovalDialog) => void;
  /** Stops the run. */
  readonly stop: () => void;
  /** Lets an action run in the background and prints its error. */
  readonly runInBackground: (work: Promise<void>) => void;
  readonly onChange: () => void;
}

/**
 * Keys right after a dialog opens are ignored, because the user was still typing. A dialog that
 * directly follows another one accepts keys at once.
 */
const ignoreKeysMs = 250;

interface ShownDialog {
  readonly key: object | string;
  readonly list: ChoiceList;
  /** Earlier keys were not meant for the dialog. */
  readonly acceptsKeysFromMs: number;
}

/**
 * Selects the dialog to show and handles its keys. There is one dialog at a time; the others wait.
 */
export class DialogController {
  readonly #options: DialogControllerOptions;
  /** Approvals that are answered here, although the log has not recorded it yet. */
  readonly #answered = new Set<object | string>();
  #pickList: FilteredPickList | undefined;
  #sideInput: SideInput | undefined;
  /** The current dialog with its list. */
  #shownDialog: ShownDialog | undefined;

  constructor(options: DialogControllerOptions) {
    this.#options = options;
  }

  get sideInput(): SideInput | undefined {
    return this.#sideInput;
  }

  get dialog(): Dialog | undefined {
    const { question, isChild, preview } = this.#options;
    if (this.#pickList !== undefined) return { type: 'pick', pick: this.#pickList.list };
    const [approval, ...others] = this.#unanswered;
    if (approval !== undefined) {
      const about = { approval, isChild: isChild(approval), others: others.length };
      return { type: 'approval', ...about, preview: preview(approval) };
    }
    const open = question();
    return open === undefined ? undefined : { type: 'question', question: open };
  }

  get #unanswered(): readonly PendingApproval[] {
    return this.#options.approvals().filter((one) => !this.#answered.has(approvalKey(one)));
  }

  /** The choices of the current dialog. */
  get list(): ChoiceList | undefined {
    const { dialog } = this;
    if (dialog === undefined) {
      this.#shownDialog = undefined;
      return undefined;
    }
    const key = dialogKey(dialog);
    if (this.#shownDialog?.key !== key) {
      // The dialog was answered elsewhere, so the typed text is dropped.
      this.#sideInput = undefined;
      const now = this.#options.clock.now();
      const fromMs = this.#shownDialog?.acceptsKeysFromMs ?? now + ignoreKeysMs;
      this.#shownDialog = { key, list: choiceListOf(dialog), acceptsKeysFromMs: fromMs };
    } else if (dialog.type === 'approval') {
      // The number of waiting approvals can change.
      this.#shownDialog = {
        ...this.#shownDialog,
        list: withItems(this.#shownDialog.list, choiceListOf(dialog)),
      };
    }
    return this.#shownDialog.list;
  }

  pick(pick: PickList): void {
    this.#pickList = new FilteredPickList(pick);
    this.#options.onChange();
  }

  readonly press = (key: Key): void => {
    const { dialog, list } = this;
    const shown = this.#shownDialog;
    if (dialog === undefined || list === undefined || shown === undefined) return;
    const isEarly = this.#options.clock.now() < shown.acceptsKeysFromMs;
    if (isEarly && dialog.type !== 'pick' && !isCancelKey(key)) return;
    if (dialog.type === 'approval' && isLetter(key, 'v')) return this.#options.showInFull(dialog);
    if (dialog.type === 'pick' && this.#pickList?.press(key)) return this.#options.onChange();
    const step = pressChoice(list, key);
    if (step.type === 'list') this.#shownDialog = { ...shown, list: step.list };
    else if (step.type === 'cancelled') this.#cancel(dialog);
    else this.#choose(dialog, step.index, list);
    this.#options.onChange();
  };

  submitSideInput(text: string): string | undefined {
    const problem = this.#sideInput?.onSubmit(text);
    if (problem === undefined) this.#sideInput = undefined;
    this.#options.onChange();
    return problem;
  }

  cancelSideInput(): void {
    this.#sideInput = undefined;
    this.#options.onChange();
  }

  #cancel(dialog: Dialog): void {
    if (dialog.type === 'pick') this.#pickList = undefined;
    else this.#options.stop();
  }

  #choose(dialog: Dialog, index: number, list: ChoiceList): void {
    switch (dialog.type) {
      case 'pick':
        this.#pickList = undefined;
        return this.#options.runInBackground(dialog.pick.onPick(index));
      case 'question':
        return this.#answer(dialog.question, index, list);
      case 'approval':
        return this.#decide(dialog.approval, (list.items[index] as ApprovalChoice).action);
    }
  }

  #decide(approval: PendingApproval, action: ApprovalAction | undefined): void {
    const { approve, approveForSession, approveAlways, deny } = this.#options;
    const submit = (answer: () => Promise<void>) => this.#submitAnswer(approval, answer);
    switch (action) {
      case 'once':
        return submit(() => approve(approval, {}));
      case 'session':
        return submit(() => approveForSession(approval));
      case 'waiting':
        for (const one of this.#unanswered) this.#submitAnswer(one, () => approve(one, {}));
        return;
      case 'always':
        return submit(() => approveAlways(approval));
      case 'change':
        this.#sideInput = changedInputInput(approval, (input) =>
          submit(() => approve(approval, { input })),
        );
        return;
      case 'deny':
        this.#sideInput = denialReasonInput(approval, (reason) =>
          submit(() => deny(approval, reason)),
        );
        return;
      case undefined:
        return;
    }
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
  #answer(question: OpenQuestion, index: number, { items, ticked }: ChoiceList): void {
    const { options, answer } = question;
    if (index === items.length - 1) return answer(undefined);
    if (index === items.length - 2) {
      this.#sideInput = answerInput(question);
      return;
    }
    const chosen = ticked === undefined || ticked.size === 0 ? [index] : [...ticked].sort();
    const labels = chosen.flatMap((one) => options[one]?.label ?? []);
    answer(question.multiple ? labels : labels[0]);
  }
}

function approvalKey({ session, id }: PendingApproval): string {
  return `${session} ${id}`;
}

/** Replaces the items and keeps the selection. */
function withItems(list: ChoiceList, { items }: ChoiceList): ChoiceList {
  const letter = list.items[list.selected]?.letter;
  const index = items.findIndex((item) => item.letter === letter);
  return { ...list, items, selected: Math.max(0, index) };
}

function isLetter(key: Key, letter: string): boolean {
  return key.type === 'text' && key.text.toLowerCase() === letter;
}

function isCancelKey(key: Key): boolean {
  return (key.type === 'key' && key.name === 'escape') || (key.type === 'chord' && key.ctrl);
}
