import type { JsonValue, SessionId, ToolCallId } from '@millrace/core';
import type { ChangePreview, UserQuestion } from '@millrace/tools';

/** A request to the user that is shown instead of the prompt. */
export type Dialog =
  | ApprovalDialog
  | { readonly type: 'question'; readonly question: OpenQuestion }
  | { readonly type: 'pick'; readonly pick: PickList };

export interface ApprovalDialog {
  readonly type: 'approval';
  readonly approval: PendingApproval;
  /** The request comes from a sub-agent. */
  readonly isChild: boolean;
  /** Number of further approvals that wait. */
  readonly others: number;
  /** The effect of a file change, as soon as it is known. */
  readonly preview?: ChangePreview | undefined;
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
}

export interface ChoiceItem {
  readonly label: string;
  readonly detail?: string | undefined;
  /** A letter that selects the item directly. */
  readonly letter?: string | undefined;
}
