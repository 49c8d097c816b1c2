import type { Clock } from '@millrace/agent';
import type { Key } from '../../input/key.ts';
import { type ApprovalAction, approvalChoices } from '../ask/approval-choices.ts';
import { type Ask, askKey, listOf, type OpenQuestion, type PickList } from '../ask/ask.ts';
import { type ChoiceList, pressChoice } from '../ask/choice-list.ts';
import type { Approving } from '../session/steering-commands.ts';
import type { PendingApproval } from '../state/pending.ts';
import { answerEdit, inputEdit, reasonEdit, type SideEdit } from './side-edit.ts';

export interface AskingOptions {
  readonly clock: Clock;
  readonly approvals: () => readonly PendingApproval[];
  readonly question: () => OpenQuestion | undefined;
  /** Whether an approval is a sub-agent's. */
  readonly isChild: (approval: PendingApproval) => boolean;
  readonly approve: (approval: PendingApproval, how: Approving) => Promise<void>;
  /** From now on, in this folder, without being asked. */
  readonly always: (approval: PendingApproval) => Promise<void>;
  readonly deny: (approval: PendingApproval, reason: string | undefined) => Promise<void>;
  /** All of it is to stop. */
  readonly stop: () => void;
  /** What was chosen is done; what goes wrong with it is told. */
  readonly do: (work: Promise<void>) => void;
  readonly onChange: () => void;
}

/** Whoever was typing when a question came up did not mean to answer it. */
const settleMs = 250;

/** What is asked now, and what keys do about it. One thing at a time; the others wait. */
export class Asking {
  readonly #options: AskingOptions;
  /** Answered, though the log has not said so yet. */
  readonly #answered = new Set<object | string>();
  #pick: PickList | undefined;
  #side: SideEdit | undefined;
  /** The list of what is asked, and since when it is. */
  #shown:
    | { readonly key: object | string; readonly list: ChoiceList; readonly sinceMs: number }
    | undefined;

  constructor(options: AskingOptions) {
    this.#options = options;
  }

  get side(): SideEdit | undefined {
    return this.#side;
  }

  get ask(): Ask | undefined {
    const { approvals, question, isChild } = this.#options;
    if (this.#pick !== undefined) return { type: 'pick', pick: this.#pick };
    const [approval, ...others] = approvals().filter((one) => !this.#answered.has(keyOf(one)));
    if (approval !== undefined)
      return { type: 'approval', approval, isChild: isChild(approval), others: others.length };
    const open = question();
    return open === undefined ? undefined : { type: 'question', question: open };
  }

  /** The choices of what is asked. */
  get list(): ChoiceList | undefined {
    const { ask } = this;
    if (ask === undefined) {
      this.#shown = undefined;
      return undefined;
    }
    const key = askKey(ask);
    if (this.#shown?.key !== key) {
      // What was typed about something that was settled elsewhere is of no use.
      this.#side = undefined;
      this.#shown = { key, list: listOf(ask), sinceMs: this.#options.clock.now() };
    }
    return this.#shown.list;
  }

  pick(pick: PickList): void {
    this.#pick = pick;
    this.#options.onChange();
  }

  readonly press = (key: Key): void => {
    const { ask, list } = this;
    const shown = this.#shown;
    if (ask === undefined || list === undefined || shown === undefined) return;
    const isEarly = this.#options.clock.now() - shown.sinceMs < settleMs;
    if (isEarly && ask.type !== 'pick' && !isEscape(key)) return;
    const step = pressChoice(list, key);
    if (step.type === 'list') this.#shown = { ...shown, list: step.list };
    else if (step.type === 'cancelled') this.#cancel(ask);
    else this.#choose(ask, step.index, list);
    this.#options.onChange();
  };

  submitSide(text: string): string | undefined {
    const problem = this.#side?.onSubmit(text);
    if (problem === undefined) this.#side = undefined;
    this.#options.onChange();
    return problem;
  }

  leaveSide(): void {
    this.#side = undefined;
    this.#options.onChange();
  }

  #cancel(ask: Ask): void {
    if (ask.type === 'pick') this.#pick = undefined;
    else this.#options.stop();
  }

  #choose(ask: Ask, index: number, list: ChoiceList): void {
    switch (ask.type) {
      case 'pick':
        this.#pick = undefined;
        return this.#options.do(ask.pick.onPick(index));
      case 'question':
        return this.#answer(ask.question, index, list);
      case 'approval':
        return this.#decide(ask.approval, approvalChoices(ask.approval)[index]?.action);
    }
  }

  #decide(approval: PendingApproval, action: ApprovalAction | undefined): void {
    const { approve, always, deny } = this.#options;
    const settled = (answer: () => Promise<void>) => this.#settle(approval, answer);
    switch (action) {
      case 'once':
        return settled(() => approve(approval, {}));
      case 'session':
        return settled(() => approve(approval, { forSession: true }));
      case 'always':
        return settled(() => always(approval));
      case 'change':
        this.#side = inputEdit(approval, (input) => settled(() => approve(approval, { input })));
        return;
      case 'deny':
        this.#side = reasonEdit(approval, (reason) => settled(() => deny(approval, reason)));
        return;
      case undefined:
        return;
    }
  }

  /** It is not asked about any more, unless the answer does not get through. */
  #settle(approval: PendingApproval, answer: () => Promise<void>): void {
    const key = keyOf(approval);
    this.#answered.add(key);
    const answered = answer().catch((error: unknown) => {
      this.#answered.delete(key);
      throw error;
    });
    this.#options.do(answered);
  }

  /** The last two choices are to type an answer and to give none. */
  #answer(question: OpenQuestion, index: number, { items, ticked }: ChoiceList): void {
    const { options, answer } = question;
    if (index === items.length - 1) return answer(undefined);
    if (index === items.length - 2) {
      this.#side = answerEdit(question);
      return;
    }
    const chosen = ticked === undefined || ticked.size === 0 ? [index] : [...ticked].sort();
    const labels = chosen.flatMap((one) => options[one]?.label ?? []);
    answer(question.multiple ? labels : labels[0]);
  }
}

function keyOf({ session, id }: PendingApproval): string {
  return `${session} ${id}`;
}

function isEscape(key: Key): boolean {
  return (key.type === 'key' && key.name === 'escape') || (key.type === 'chord' && key.ctrl);
}
