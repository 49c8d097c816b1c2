import type { Clock } from '@millrace/agent';
import type { ChangePreview } from '@millrace/tools';
import type { Key } from '../../input/keys/key.ts';
import type {
  Ask,
  ChoiceList,
  OpenQuestion,
  PendingApproval,
  PickList,
} from '../contract/dialog.ts';
import type { Approving } from '../session/session-commands.ts';
import type { ApprovalAction, ApprovalChoice } from './approval-choices.ts';
import { askKey, listOf, Picking, pressChoice } from './choice-list.ts';
import { answerEdit, inputEdit, reasonEdit, type SideEdit } from './side-input.ts';

interface AskingOptions {
  readonly clock: Clock;
  readonly approvals: () => readonly PendingApproval[];
  readonly question: () => OpenQuestion | undefined;
  /** Whether an approval is a sub-agent's. */
  readonly isChild: (approval: PendingApproval) => boolean;
  /** What a change of a file would do, where that is known. */
  readonly preview: (approval: PendingApproval) => ChangePreview | undefined;
  readonly approve: (approval: PendingApproval, how: Approving) => Promise<void>;
  /** From now on, in this session, without being asked. */
  readonly forSession: (approval: PendingApproval) => Promise<void>;
  /** From now on, in this folder, without being asked. */
  readonly always: (approval: PendingApproval) => Promise<void>;
  readonly deny: (approval: PendingApproval, reason: string | undefined) => Promise<void>;
  /** All of what is asked about is to be seen. */
  readonly show: (ask: ApprovalAsk) => void;
  /** All of it is to stop. */
  readonly stop: () => void;
  /** What was chosen is done; what goes wrong with it is told. */
  readonly do: (work: Promise<void>) => void;
  readonly onChange: () => void;
}

type ApprovalAsk = Extract<Ask, { readonly type: 'approval' }>;

/** Whoever was typing when a question came up did not mean to answer it. One after another is awaited. */
const settleMs = 250;

interface Shown {
  readonly key: object | string;
  readonly list: ChoiceList;
  /** Keys before this were meant for something else. */
  readonly fromMs: number;
}

/** What is asked now, and what keys do about it. One thing at a time; the others wait. */
export class Asking {
  readonly #options: AskingOptions;
  /** Answered, though the log has not said so yet. */
  readonly #answered = new Set<object | string>();
  #pick: Picking | undefined;
  #side: SideEdit | undefined;
  /** What is asked, with its list. */
  #shown: Shown | undefined;

  constructor(options: AskingOptions) {
    this.#options = options;
  }

  get side(): SideEdit | undefined {
    return this.#side;
  }

  get ask(): Ask | undefined {
    const { question, isChild, preview } = this.#options;
    if (this.#pick !== undefined) return { type: 'pick', pick: this.#pick.shown };
    const [approval, ...others] = this.#waiting;
    if (approval !== undefined) {
      const about = { approval, isChild: isChild(approval), others: others.length };
      return { type: 'approval', ...about, preview: preview(approval) };
    }
    const open = question();
    return open === undefined ? undefined : { type: 'question', question: open };
  }

  get #waiting(): readonly PendingApproval[] {
    return this.#options.approvals().filter((one) => !this.#answered.has(keyOf(one)));
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
      const now = this.#options.clock.now();
      const fromMs = this.#shown?.fromMs ?? now + settleMs;
      this.#shown = { key, list: listOf(ask), fromMs };
    } else if (ask.type === 'approval') {
      // How many others wait changes meanwhile.
      this.#shown = { ...this.#shown, list: withItems(this.#shown.list, listOf(ask)) };
    }
    return this.#shown.list;
  }

  pick(pick: PickList): void {
    this.#pick = new Picking(pick);
    this.#options.onChange();
  }

  readonly press = (key: Key): void => {
    const { ask, list } = this;
    const shown = this.#shown;
    if (ask === undefined || list === undefined || shown === undefined) return;
    const isEarly = this.#options.clock.now() < shown.fromMs;
    if (isEarly && ask.type !== 'pick' && !isEscape(key)) return;
    if (ask.type === 'approval' && isLetter(key, 'v')) return this.#options.show(ask);
    if (ask.type === 'pick' && this.#pick?.press(key)) return this.#options.onChange();
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
        return this.#decide(ask.approval, (list.items[index] as ApprovalChoice).action);
    }
  }

  #decide(approval: PendingApproval, action: ApprovalAction | undefined): void {
    const { approve, forSession, always, deny } = this.#options;
    const settled = (answer: () => Promise<void>) => this.#settle(approval, answer);
    switch (action) {
      case 'once':
        return settled(() => approve(approval, {}));
      case 'session':
        return settled(() => forSession(approval));
      case 'waiting':
        for (const one of this.#waiting) this.#settle(one, () => approve(one, {}));
        return;
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

/** The items as they are now, with the same one selected. */
function withItems(list: ChoiceList, { items }: ChoiceList): ChoiceList {
  const letter = list.items[list.selected]?.letter;
  const place = items.findIndex((item) => item.letter === letter);
  return { ...list, items, selected: Math.max(0, place) };
}

function isLetter(key: Key, letter: string): boolean {
  return key.type === 'text' && key.text.toLowerCase() === letter;
}

function isEscape(key: Key): boolean {
  return (key.type === 'key' && key.name === 'escape') || (key.type === 'chord' && key.ctrl);
}
