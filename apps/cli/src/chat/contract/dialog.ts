import type { FormQuestion, JsonValue, SessionId, ToolCallId } from '@millrace/core';
import type { ChangePreview, PermissionRule, UserQuestion } from '@millrace/tools';

/** A request to the user. The chat shows it in place of the prompt. */
export type Dialog =
  | ApprovalDialog
  | ConfirmDialog
  | QuestionDialog
  | { readonly type: 'pick'; readonly pick: PickList };

/** A question of the model, or a field of a form. */
export interface QuestionDialog {
  readonly type: 'question';
  readonly question: OpenQuestion;
}

export interface ApprovalDialog {
  readonly type: 'approval';
  readonly approval: PendingApproval;
  /** True if the request comes from a sub-agent. */
  readonly isChild: boolean;
  /** The number of other approvals that wait. */
  readonly others: number;
  /** The folder in which the call runs. Undefined if it is the folder of this terminal. */
  readonly folder?: string | undefined;
  /**
   * The folder from which relative paths in the call start. If it is undefined, the dialog shows the real path of each
   * relative path. Default: undefined.
   */
  readonly root?: string | undefined;
  /** The effect of a file change. Undefined until it is computed. */
  readonly preview?: ChangePreview | undefined;
  /** The rule that the answer "always" saves. Undefined if there is none. */
  readonly savedRule?: PermissionRule | undefined;
}

/**
 * The confirmation of an answer. It is needed if the answer allows something else than the shown
 * call: a rule, several calls, or a changed input.
 */
export interface ConfirmDialog {
  readonly type: 'confirm';
  readonly title: string;
  /** The rule exactly as it is saved. */
  readonly rule?: string | undefined;
  /** A description of the calls that the rule allows. */
  readonly scope?: string | undefined;
  /** The calls that the answer allows. The dialog shows each of them in full. */
  readonly requests: readonly ApprovalDialog[];
  /** The label of the answer that approves. */
  readonly yes: string;
}

/** A tool call that waits for the user's approval. */
export interface PendingApproval {
  readonly session: SessionId;
  readonly id: ToolCallId;
  readonly name: string;
  readonly input: JsonValue | undefined;
  readonly reason: string | undefined;
  /**
   * The permission rule that an answer for the session would grant, in the text form of the policy.
   * Undefined if there is none.
   */
  readonly rule: string | undefined;
  /**
   * The real path of the file, as the permission check found it. Undefined for calls without a
   * file.
   */
  readonly judged?: string | undefined;
  /**
   * The names of the nested agents, from the outermost to the sub-agent that asks. Undefined if the
   * main agent asks.
   */
  readonly agents?: readonly string[] | undefined;
  /** The id of the call that runs the asking sub-agent. Undefined if the main agent asks. */
  readonly of?: ToolCallId | undefined;
  /** True if a guardrail requires an approval for an input or an answer. */
  readonly isGuardrail?: true | undefined;
  /** The form, if a tool asks the user with one. */
  readonly form?: FormQuestion | undefined;
  /** True if the user has submitted an answer that is not processed yet. */
  readonly isAnswered: boolean;
}

/** A question of the model that waits for an answer. */
export interface OpenQuestion extends UserQuestion {
  readonly answer: (answer: string | readonly string[] | undefined) => void;
}

/** A list to choose from, for example sessions or models. */
export interface PickList {
  readonly title: string;
  /** Follows the title if there is room: what the keys do, or the typed filter. Default: none. */
  readonly hint?: string | undefined;
  readonly items: readonly ChoiceItem[];
  readonly onPick: (index: number) => Promise<void>;
  /** Called if the user closes the list without a choice. Default: nothing happens. */
  readonly onCancel?: (() => void) | undefined;
  /** The item that is selected first. Default: 0. */
  readonly selected?: number | undefined;
  /** A text of each item that Ctrl-E changes. Default: none. */
  readonly edit?: ItemEdit | undefined;
}

/** Changes a text of the selected item of a list, for example its label. */
export interface ItemEdit {
  /** The effect of Ctrl-E in one word, for the line of keys. */
  readonly verb: string;
  /** The title of the text field. */
  readonly title: string;
  /** Returns the current text of an item. Undefined if the item has no text to change. */
  readonly text: (index: number) => string | undefined;
  readonly onSubmit: (index: number, text: string) => Promise<void>;
}

/** A list of choices and its selection. */
export interface ChoiceList {
  readonly items: readonly ChoiceItem[];
  readonly selected: number;
  /** The indexes of the ticked items. Undefined if only one item can be chosen. */
  readonly ticked?: ReadonlySet<number> | undefined;
  /** If true, digits do not choose an item. Default: false. */
  readonly lettersOnly?: boolean | undefined;
}

export interface ChoiceItem {
  readonly label: string;
  readonly detail?: string | undefined;
  /** A letter that selects the item directly. */
  readonly letter?: string | undefined;
}
