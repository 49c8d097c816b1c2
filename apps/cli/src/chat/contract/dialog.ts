import type { JsonValue, SessionId, ToolCallId } from '@millrace/core';
import type { ChangePreview, PermissionRule, UserQuestion } from '@millrace/tools';

/** A request to the user that is shown instead of the prompt. */
export type Dialog =
  | ApprovalDialog
  | ConfirmDialog
  | { readonly type: 'question'; readonly question: OpenQuestion }
  | { readonly type: 'pick'; readonly pick: PickList };

export interface ApprovalDialog {
  readonly type: 'approval';
  readonly approval: PendingApproval;
  /** The request comes from a sub-agent. */
  readonly isChild: boolean;
  /** Number of further approvals that wait. */
  readonly others: number;
  /** The folder in which the call runs, if it is not the folder of this terminal. */
  readonly folder?: string | undefined;
  /** The effect of a file change, as soon as it is known. */
  readonly preview?: ChangePreview | undefined;
  /** The rule that a permanent answer saves. Undefined if there is none. */
  readonly savedRule?: PermissionRule | undefined;
}

/**
 * The second step of an answer that allows more than the call that was shown, or something else:
 * a rule, several calls, or a changed input.
 */
export interface ConfirmDialog {
  readonly type: 'confirm';
  readonly title: string;
  /** The rule exactly as it is saved. */
  readonly rule?: string | undefined;
  /** What the rule allows, in words. */
  readonly scope?: string | undefined;
  /** The calls that run, each of which is shown in full. */
  readonly requests: readonly ApprovalDialog[];
  /** Describes the answer that approves. */
  readonly yes: string;
}

/** A tool call that waits for the user's approval. */
export interface PendingApproval {
  readonly session: SessionId;
  readonly id: ToolCallId;
  readonly name: string;
  readonly input: JsonValue | undefined;
  readonly reason: string | undefined;
  /** The permission rule that a lasting answer would grant, as the policy wrote it. */
  readonly rule: string | undefined;
  /** What the question is about: the real path of a file. Undefined for other calls. */
  readonly judged?: string | undefined;
  /** Set if a sub-agent asks: the names of the agents, down to the one that asks. */
  readonly agents?: readonly string[] | undefined;
  /** Set if a sub-agent asks: the call that runs it. */
  readonly of?: ToolCallId | undefined;
  /** Set if a guardrail asks about an input or an answer. */
  readonly isGuardrail?: true | undefined;
  /** An answer was submitted and is not processed yet. */
  readonly isAnswered: boolean;
}

/** A question of the model that waits for an answer. */
export interface OpenQuestion extends UserQuestion {
  readonly answer: (answer: string | readonly string[] | undefined) => void;
}

/** A list to choose from, for example sessions or models. */
export interface PickList {
  readonly title: string;
  readonly items: readonly ChoiceItem[];
  readonly onPick: (index: number) => Promise<void>;
}

/** A list of choices and its selection. */
export interface ChoiceList {
  readonly items: readonly ChoiceItem[];
  readonly selected: number;
  /** The ticked items, if several can be chosen. */
  readonly ticked?: ReadonlySet<number> | undefined;
  /** Digits choose nothing. Default: false. */
  readonly lettersOnly?: boolean | undefined;
}

export interface ChoiceItem {
  readonly label: string;
  readonly detail?: string | undefined;
  /** A letter that selects the item directly. */
  readonly letter?: string | undefined;
}
