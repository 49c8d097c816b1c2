import type { ChangePreview, Question } from '@millrace/tools';
import type { PendingApproval } from '../state/pending.ts';
import { approvalChoices } from './approval-choices.ts';
import type { ChoiceItem, ChoiceList } from './choice-list.ts';

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

/** What makes one ask another: the list of another one begins anew. */
export function askKey(ask: Ask): object | string {
  switch (ask.type) {
    case 'approval':
      return `${ask.approval.session} ${ask.approval.id}`;
    case 'question':
      return ask.question;
    case 'pick':
      return ask.pick;
  }
}

export function listOf(ask: Ask): ChoiceList {
  switch (ask.type) {
    case 'approval':
      return { items: approvalChoices(ask.approval, ask.others), selected: 0 };
    case 'question': {
      const { options, multiple } = ask.question;
      const items = [
        ...options,
        { label: 'Something else', detail: 'type an answer', letter: 'e' },
        { label: 'No answer', letter: 'x' },
      ];
      return { items, selected: 0, ...(multiple && { ticked: new Set<number>() }) };
    }
    case 'pick':
      return { items: ask.pick.items, selected: 0 };
  }
}
