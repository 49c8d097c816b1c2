import { isOnlyPictures } from '../attachments/mentioned-pictures.ts';
import type { CompletionSources, Completions, Menu } from '../completion/completion.ts';
import { completions, isNamingFile } from '../completion/completions.ts';
import { commandName } from '../editor/edit.ts';
import {
  createEditor,
  type EditAction,
  type EditorState,
  type HistoryEntry,
} from '../editor/editor-state.ts';
import { entryOf, isRecorded } from '../history/history-entry.ts';
import type { Key } from '../keys/key.ts';
import {
  createView,
  type EditorView,
  type Effect,
  menuOf,
  type PressContext,
  pressKey,
  withEdit,
} from './press-key.ts';
import { markWidth } from './text-lines.ts';

type NeedsOwnKeys = (text: string, isFolded: boolean) => boolean;

/** The functions of the keys that do not edit text. */
export interface EditorOptions {
  /**
   * Called on Enter with the text, which is never blank. The text starts a run, or steers the
   * current run. `chosen` has the texts in which the user can have chosen a file: the part that the user typed, and
   * the paths of dropped pictures.
   */
  readonly onSubmit: (text: string, chosen: readonly string[]) => void;
  /**
   * Called on Alt-Enter during a run, with the message to queue. If it is undefined, Alt-Enter
   * always inserts a newline.
   */
  readonly onQueue?: ((text: string, chosen: readonly string[]) => void) | undefined;
  /** Called on Esc or Ctrl-C during a run. */
  readonly onStop: () => void;
  /** Called on Ctrl-D while idle with an empty prompt. */
  readonly onLeave: () => void;
  /** Called on Ctrl-C while idle with an empty prompt. Default: `onLeave`. */
  readonly onInterrupt?: (() => void) | undefined;
  /** Called on Esc while idle with an empty prompt. */
  readonly onEscape?: (() => void) | undefined;
  /** Called on Up in an empty prompt, to withdraw a queued message. If undefined, Up shows the history. */
  readonly onTakeBack?: (() => void) | undefined;
  /** Called on Enter in an empty prompt. */
  readonly onEmptyEnter?: (() => void) | undefined;
  /**
   * Called for each key before the editor handles it. If it returns true, the editor ignores the
   * key.
   */
  readonly onKey?: ((key: Key) => boolean) | undefined;
  /** Called for each text that is added to the history. Pass `history.add`. */
  readonly onSent?: ((entry: HistoryEntry) => void) | undefined;
  /** Called while the user types an `@` mention. The caller can refresh the file list. */
  readonly onFilesWanted?: (() => void) | undefined;
  /**
   * Returns true if a text is a command that runs only if the user typed it. A command of the shell always is one.
   * `isFolded` is true if the prompt shows only the length of a part of the text. Default: no other text is one.
   */
  readonly needsOwnKeys?: NeedsOwnKeys | undefined;
  readonly isBusy: boolean;
  /** The width of the whole prompt in cells. Pass the same value to `<Prompt>`. */
  readonly width: number;
}

/**
 * Applies a key to an editor, and performs its effect. `isAlone` is false if the key arrived together with others, for
 * example in a paste that the terminal did not mark.
 */
export function pressInEditor(
  store: EditorStore,
  key: Key,
  options: EditorOptions,
  isAlone = true,
): void {
  store.withKeyOf(isAlone, () => press(store, key, options));
}

function press(store: EditorStore, key: Key, options: EditorOptions): void {
  if (options.onKey?.(key) === true) return;
  const isEmpty = store.snapshot().state.text === '';
  if (isEmpty && isPlainEnter(key)) return options.onEmptyEnter?.();
  const { isBusy, width, onQueue, onTakeBack, needsOwnKeys } = options;
  const can = { canQueue: onQueue !== undefined, canTakeBack: onTakeBack !== undefined };
  const effect = store.press(key, { isBusy, ...can, width: width - markWidth }, needsOwnKeys);
  if (effect !== undefined) perform(effect, options);
  if (store.wantsFiles()) options.onFilesWanted?.();
}

function isPlainEnter(key: Key): boolean {
  return key.type === 'key' && key.name === 'enter' && !key.shift && !key.alt && !key.ctrl;
}

function perform(effect: Effect, options: EditorOptions): void {
  switch (effect.type) {
    case 'stop':
      return options.onStop();
    case 'leave':
      return options.onLeave();
    case 'interrupt':
      return (options.onInterrupt ?? options.onLeave)();
    case 'escape':
      return options.onEscape?.();
    case 'take_back':
      return options.onTakeBack?.();
    case 'keep':
      return recordEntry(effect.sent, options);
    case 'submit':
    case 'queue':
      return send(effect.type, effect.sent, options);
  }
}

function recordEntry(sent: EditorState, { onSent }: EditorOptions): void {
  if (isRecorded(sent.text)) onSent?.(entryOf(sent));
}

function send(type: 'submit' | 'queue', sent: EditorState, options: EditorOptions): void {
  const { text, typed, drops } = sent;
  recordEntry(sent, options);
  const whole = text.trimEnd();
  const chosen = [text.slice(0, typed), ...drops.filter(isOnlyPictures)];
  return type === 'queue' ? options.onQueue?.(whole, chosen) : options.onSubmit(whole, chosen);
}

interface EditorSnapshot {
  readonly state: EditorState;
  readonly menu: Menu | undefined;
}

/**
 * Stores the editor outside of React. So each key of a chunk sees the result of the previous key. A
 * change is drawn immediately, and does not wait for streamed output.
 */
export class EditorStore {
  #view: EditorView;
  #sources: CompletionSources = {};
  #completions: Completions | undefined;
  /** True if the key that the editor handles now was pressed alone. */
  #isAlone = true;
  #snapshot: EditorSnapshot;
  readonly #listeners = new Set<() => void>();

  constructor(history: readonly HistoryEntry[] = []) {
    this.#view = createView(createEditor(history));
    this.#snapshot = { state: this.#view.state, menu: undefined };
  }

  readonly snapshot = (): EditorSnapshot => this.#snapshot;

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  readonly dispatch = (action: EditAction): void => {
    this.#update(withEdit(this.#view, action, this.#isAlone));
  };

  /** Handles a key. `isAlone` is false if it arrived together with other keys. */
  withKeyOf(isAlone: boolean, work: () => void): void {
    this.#isAlone = isAlone;
    try {
      work();
    } finally {
      this.#isAlone = true;
    }
  }

  /** Sets the commands and files to offer. An open list is updated. */
  setSources(sources: CompletionSources): void {
    if (sources === this.#sources) return;
    this.#sources = sources;
    this.#update(this.#view);
  }

  press(
    key: Key,
    context: Omit<PressContext, 'completions' | 'isOwn'>,
    needsOwnKeys?: NeedsOwnKeys,
  ): Effect | undefined {
    const { view, effect } = pressKey(this.#view, key, {
      ...context,
      ...{ completions: this.#completions, isOwn: this.#isAlone },
    });
    const isSent = effect?.type === 'submit' || effect?.type === 'queue';
    const held = isSent ? this.#heldNotice(effect.sent, needsOwnKeys) : undefined;
    if (held !== undefined) {
      this.#update({ ...this.#view, state: { ...this.#view.state, notice: held } });
      return undefined;
    }
    this.#update(view);
    return effect;
  }

  /** Returns what the user must do before a command runs. Returns undefined if the text can be sent. */
  #heldNotice(sent: EditorState, needsOwnKeys?: NeedsOwnKeys): string | undefined {
    const isTyped = isStartTyped(sent);
    const { text, folds } = sent;
    if (isTyped && this.#isAlone) return undefined;
    if (!isShellCommand(text) && !needsOwnKeys?.(text, folds.length > 0)) return undefined;
    return isTyped ? enterNotice : startNotice;
  }

  /** Returns true if the user is typing an `@` mention. */
  wantsFiles(): boolean {
    return this.#view.mayComplete && isNamingFile(this.#view.state);
  }

  #update(view: EditorView): void {
    this.#view = view;
    this.#completions = completions(view.state, this.#sources);
    const menu = menuOf(view, this.#completions);
    const { state, menu: before } = this.#snapshot;
    const isSame = state === view.state && menu === undefined && before === undefined;
    if (isSame) return;
    this.#snapshot = { state: view.state, menu };
    for (const listener of this.#listeners) listener();
  }
}

/**
 * Returns true if the user typed the first character of a text that is not white space. The name of a command must be
 * visible.
 */
function isStartTyped({ text, typed, folds }: EditorState): boolean {
  const [name = ''] = commandName.exec(text) ?? [];
  return text.search(/\S/) < typed && folds.every(({ start }) => start >= name.length);
}

const startNotice = 'It did not run. Press Ctrl-U and type it again, its first character alone.';
const enterNotice = 'It did not run. Press Enter once more, alone.';

/**
 * Returns true if Enter would run a command of the shell, without a question. Another person may have written a text
 * that is pasted, and some terminals do not mark pastes.
 */
function isShellCommand(text: string): boolean {
  return /^!(?!!)/.test(text);
}
