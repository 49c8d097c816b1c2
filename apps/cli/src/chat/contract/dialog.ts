import type { JsonValue, SessionId, ToolCallId } from '@millrace/core';
import type { ChangePreview, Question } from '@millrace/tools';

/** A call that waits for a person to say whether it may run. */
export interface PendingApproval {
  readonly session: SessionId;
  readonly id: ToolCallId;
  readonly name: string;
  readonly input: JsonValue | undefined;
  readonly reason: string | undefined;
  /** What an answer that lasts is about, as the policy wrote it. */
  readonly rule: string | undefined;
  /** Somebody has answered, and the answer is on its way. */
  readonly isAnswered: boolean;
}

/** Something that a person is asked, in the place of the prompt. */
export type Ask =
  | {
      readonly type: 'approval';
      readonly approval: PendingApproval;
      /** A sub-agent asks. */
      readonly isChild: boolean;
      /** How many more wait. */
      readonly others: number;
      /** What a change of a file would do, as soon as that is known. */
      readonly preview?: ChangePreview | undefined;
    }
  | { readonly type: 'question'; readonly question: OpenQuestion }
  | { readonly type: 'pick'; readonly pick: PickList };

/** A question of the model. */
export interface OpenQuestion extends Question {
  readonly answer: (answer: string | readonly string[] | undefined) => void;
}

/** A list to choose from: of sessions, of models. */
export interface PickList {
  readonly title: string;
  readonly items: readonly ChoiceItem[];
  readonly onPick: (index: number) => Promise<void>;
}

export interface ChoiceItem {
  readonly label: string;
  readonly detail?: string | undefined;
  /** A letter that chooses it at once. */
  readonly letter?: string | undefined;
}

/** Something to choose from, with the keys. */
export interface ChoiceList {
  readonly items: readonly ChoiceItem[];
  readonly selected: number;
  /** Those that are ticked, where several may be. */
  readonly ticked?: ReadonlySet<number> | undefined;
}
