import type { JsonValue } from '@millrace/core';
import type { ChangePreview, PermissionRule } from '@millrace/tools';
import { keysForPrompt } from '../../input/answer/answer-guard.ts';
import type { Key } from '../../input/keys/key.ts';
import { revealHidden } from '../../text/cells/reveal-hidden.ts';
import type { ApprovalDialog, ConfirmDialog, PendingApproval } from '../contract/dialog.ts';
import type { ApprovalOptions } from '../session/session-commands.ts';
import {
  confirmAlways,
  confirmChanged,
  confirmSession,
  confirmWaiting,
} from './approval-choices.ts';
import { type ApprovalPreviews, changesFile, isSamePreview } from './change-previews.ts';
import { changedInputInput, denialReasonInput, type SideInput } from './side-input.ts';

export interface ApprovalAnswersOptions {
  readonly approvals: () => readonly PendingApproval[];
  /** Returns true if a sub-agent asked for the approval. */
  readonly isChild: (approval: PendingApproval) => boolean;
  readonly previews: ApprovalPreviews;
  /**
   * Returns the folder in which the calls run. Returns undefined if it is the folder of this
   * terminal.
   */
  readonly otherFolder: () => string | undefined;
  /** Returns the real path of the folder of this terminal. */
  readonly root: () => string;
  /** Returns the rule that the answer "always" saves. Returns undefined if there is none. */
  readonly ruleToSave: (approval: PendingApproval) => PermissionRule | undefined;
  /** Returns the reason why the rules ask about a changed call. Default: none is shown. */
  readonly reasonToAsk?: ((changed: PendingApproval) => Promise<string | undefined>) | undefined;
  readonly approve: (approval: PendingApproval, how: ApprovalOptions) => Promise<void>;
  /** Approves the call, and grants its rule for the rest of the session. */
  readonly approveForSession: (approval: PendingApproval, basis?: string) => Promise<void>;
  /** Approves the call, and saves the rule for this folder. */
  readonly approveAlways: (
    approval: PendingApproval,
    rule: PermissionRule,
    basis?: string,
  ) => Promise<void>;
  readonly deny: (approval: PendingApproval, reason: string | undefined) => Promise<void>;
  /** Runs work in the background and prints its error. */
  readonly runInBackground: (work: Promise<void>) => void;
}

/** A confirmation that is open and waits for the user's answer. */
interface OpenConfirm {
  /** The key of the approval to which this confirmation belongs. */
  readonly approvalKey: string;
  readonly dialog: ConfirmDialog;
  /**
   * The key press that opened this confirmation. If the user continues to type, it becomes text in
   * the prompt.
   */
  readonly openedBy: readonly Key[];
  readonly onYes: () => void;
}

/**
 * Manages the waiting approvals and submits the user's answers. An answer that allows something
 * else than the shown call needs a confirmation.
 */
export class ApprovalAnswers {
  readonly #options: ApprovalAnswersOptions;
  /**
   * The keys of approvals that the user has answered here, but whose answers are not in the log
   * yet.
   */
  readonly #answered = new Set<string>();
  #confirm: OpenConfirm | undefined;

  constructor(options: ApprovalAnswersOptions) {
    this.#options = options;
  }

  /** The dialog to show: the first approval, or its confirmation if that is open. */
  get dialog(): ApprovalDialog | ConfirmDialog | undefined {
    const [first, ...others] = this.#unanswered;
    if (first === undefined) return undefined;
    const isOpen = this.#confirm?.approvalKey === approvalKey(first);
    return isOpen ? this.#confirm?.dialog : this.#dialogOf(first, others.length);
  }

  get #unanswered(): readonly PendingApproval[] {
    return this.#options.approvals().filter((one) => !this.#answered.has(approvalKey(one)));
  }

  #dialogOf(approval: PendingApproval, others: number): ApprovalDialog {
    const { isChild, previews, ruleToSave, otherFolder, root } = this.#options;
    const folder = otherFolder();
    return {
      ...{ type: 'approval', approval, isChild: isChild(approval), others },
      ...{ preview: previews.of(approval), savedRule: ruleToSave(approval), folder },
      root: folder ?? root(),
    };
  }

  /** Approves the call that the dialog shows. */
  approveOnce(dialog: ApprovalDialog): void {
    this.#approve(dialog, (basis) => this.#options.approve(dialog.approval, { basis }));
  }

  deny(approval: PendingApproval, reason: string | undefined): void {
    this.#submit(approval, () => this.#options.deny(approval, reason));
  }

  /** Creates a text field for the reason of a denial. */
  reasonInput(approval: PendingApproval, text?: string): SideInput {
    return denialReasonInput(approval, (reason) => this.deny(approval, reason), text);
  }

  /**
   * Creates a text field in which the user changes the input. The dialog shows the changed call, with its own
   * preview, before it runs. The policy has judged only the path of the question, so a call of a file tool must
   * keep this path.
   */
  changeInput(dialog: ApprovalDialog): SideInput {
    const { approval } = dialog;
    return changedInputInput(approval, (input: JsonValue) => {
      const isSamePath = pathOf(input) === pathOf(approval.input);
      if (!isSamePath && approval.judged !== undefined) return otherPathText(approval);
      // The reason is about the path. A command has none, so its reason is about the old command.
      const isKept = isSamePath && pathOf(input) !== undefined;
      this.#openChanged(dialog, { ...approval, input }, isKept);
      return undefined;
    });
  }

  /**
   * Opens the confirmation for a changed call when its preview and its reason are known. `isKept` is true if the reason
   * of the question applies to the changed call, too.
   */
  #openChanged(dialog: ApprovalDialog, changed: PendingApproval, isKept: boolean): void {
    const { previews, runInBackground, approve, reasonToAsk } = this.#options;
    const { approval } = dialog;
    const { input } = changed;
    const open = (reason: string | undefined, preview?: ChangePreview) => {
      const request = { ...dialog, preview, approval: { ...changed, reason } };
      this.#open(approval, confirmChanged(request), () =>
        this.#approve(request, (basis) => approve(approval, { input, basis })),
      );
    };
    const openWhenKnown = async () => {
      const reason = isKept ? approval.reason : await reasonToAsk?.(changed);
      const preview = changesFile(changed) ? await previews.renew(changed) : undefined;
      if (this.#isStillFirst(approval)) open(reason, preview);
    };
    runInBackground(openWhenKnown());
  }

  /** Opens the confirmation for an answer that allows more than the shown call. */
  openConfirm(dialog: ApprovalDialog, action: 'session' | 'waiting' | 'always', key: Key): void {
    const { approveForSession, approveAlways } = this.#options;
    const { approval, savedRule } = dialog;
    switch (action) {
      case 'session':
        return this.#open(
          approval,
          confirmSession(dialog),
          () => this.#approve(dialog, (basis) => approveForSession(approval, basis)),
          key,
        );
      case 'always':
        if (savedRule === undefined) return;
        return this.#open(
          approval,
          confirmAlways(savedRule),
          () => this.#approve(dialog, (basis) => approveAlways(approval, savedRule, basis)),
          key,
        );
      case 'waiting':
        return this.#openWaiting(approval, key);
    }
  }

  /**
   * Opens the confirmation for all waiting calls when all previews are computed. The answer does
   * not apply to calls that arrive later.
   */
  #openWaiting(first: PendingApproval, key: Key): void {
    const { previews, runInBackground } = this.#options;
    const waiting = this.#unanswered.filter(({ input }) => input !== undefined);
    const unready = waiting.filter((one) => !previews.isReady(one));
    if (unready.length === 0) return this.#openList(first, waiting, key);
    const open = async () => {
      await Promise.all(unready.map((one) => previews.renew(one)));
      if (this.#isStillFirst(first)) this.#openList(first, waiting, key);
    };
    runInBackground(open());
  }

  /** Returns true if the dialog shows this approval, and no confirmation. */
  #isStillFirst(approval: PendingApproval): boolean {
    const [now] = this.#unanswered;
    const isFirst = now !== undefined && approvalKey(now) === approvalKey(approval);
    return isFirst && this.#confirm === undefined;
  }

  #openList(first: PendingApproval, waiting: readonly PendingApproval[], key: Key): void {
    const listed = firstChangeOfEachFile(waiting.map((one) => this.#dialogOf(one, 0)));
    const onYes = () => {
      const open = new Set(this.#unanswered.map(approvalKey));
      for (const one of listed) if (open.has(approvalKey(one.approval))) this.approveOnce(one);
    };
    this.#open(first, confirmWaiting(listed, waiting.length), onYes, key);
  }

  #open(approval: PendingApproval, dialog: ConfirmDialog, onYes: () => void, openedBy?: Key): void {
    const keys = openedBy === undefined ? [] : keysForPrompt([openedBy]);
    this.#confirm = { approvalKey: approvalKey(approval), dialog, openedBy: keys, onYes };
  }

  /** Accepts the open confirmation, so that its answer takes effect. */
  confirm(): void {
    const open = this.#confirm;
    this.#confirm = undefined;
    open?.onYes();
  }

  /** Closes the confirmation without an answer. Returns the key press that opened it. */
  closeConfirm(): readonly Key[] {
    const opened = this.#confirm?.openedBy ?? [];
    this.#confirm = undefined;
    return opened;
  }

  /**
   * Approves a call, unless its effect now differs from the effect that the dialog showed. The answer contains the
   * state of the file (`basis`), because the file can change before the call runs.
   */
  #approve(dialog: ApprovalDialog, answer: (basis?: string) => Promise<void>): void {
    const { approval, preview: shown } = dialog;
    if (!changesFile(approval)) return this.#submit(approval, () => answer());
    this.#submit(approval, async () => {
      const now = await this.#options.previews.renew(approval);
      if (!isSamePreview(shown, now)) throw new Error(changedText(approval));
      await answer(now?.basis);
    });
  }

  /** Hides an approval immediately. Shows it again if the answer cannot be submitted. */
  #submit(approval: PendingApproval, answer: () => Promise<void>): void {
    const key = approvalKey(approval);
    this.#answered.add(key);
    const answered = answer().catch((error: unknown) => {
      this.#answered.delete(key);
      throw error;
    });
    this.#options.runInBackground(answered);
  }
}

function pathOf(input: JsonValue | undefined): JsonValue | undefined {
  return ((input ?? {}) as { readonly path?: JsonValue }).path;
}

function otherPathText({ input }: PendingApproval): string {
  return `The path must stay ${revealHidden(String(pathOf(input)))}, because the question is about this path. Deny the call with a reason, so that the model makes a new call`;
}

function changedText({ name, input }: PendingApproval): string {
  const path = pathOf(input) ?? name;
  return `Nothing was approved: ${revealHidden(String(path))} changed after its change was shown. Read the new one`;
}

/**
 * If several requests change the same file, returns only the first of these requests, because the first
 * change can alter the effect of the later changes. The user is asked about the later changes afterwards.
 * Requests that change no file are returned too.
 */
function firstChangeOfEachFile(dialogs: readonly ApprovalDialog[]): readonly ApprovalDialog[] {
  const files = new Set<string>();
  return dialogs.filter(({ approval, preview }) => {
    if (!changesFile(approval)) return true;
    const file = approval.judged || (preview?.file ?? String(pathOf(approval.input)));
    const isFirst = !files.has(file);
    files.add(file);
    return isFirst;
  });
}

function approvalKey({ session, id }: PendingApproval): string {
  return `${session} ${id}`;
}
