import type { Clock } from '@millrace/agent';
import { useEffect, useState, useSyncExternalStore } from 'react';
import type { CompletionSources, Completions, Menu } from '../completion/completion.ts';
import { completions, isNamingFile } from '../completion/completions.ts';
import {
  createEditor,
  type EditAction,
  type EditorState,
  type HistoryEntry,
} from '../editor/editor-state.ts';
import { isKept } from '../history/history-entry.ts';
import type { Key } from '../keys/key.ts';
import { useKeys } from '../keys/use-keys.ts';
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

export interface UseEditorOptions {
  /** Enter: what to send while idle, what to steer with during a run. Never blank. */
  readonly onSubmit: (text: string) => void;
  /** Alt-Enter during a run: what to do next. Without it, Alt-Enter is always a new line. */
  readonly onQueue?: ((text: string) => void) | undefined;
  /** Esc or Ctrl-C during a run. */
  readonly onStop: () => void;
  /** Ctrl-D while idle with an empty prompt. */
  readonly onLeave: () => void;
  /** Ctrl-C then; as Ctrl-D without it. */
  readonly onInterrupt?: (() => void) | undefined;
  /** Up in an empty prompt; without it, that is the history. */
  readonly onTakeBack?: (() => void) | undefined;
  /** Enter in an empty prompt. */
  readonly onEmptyEnter?: (() => void) | undefined;
  /** Sees each key first; true takes it away from the editor. */
  readonly onKey?: ((key: Key) => boolean) | undefined;
  /** Something was sent that history keeps: `history.add` belongs here. */
  readonly onSent?: ((entry: HistoryEntry) => void) | undefined;
  /** An @ is being completed: a good time to look for files. */
  readonly onFilesWanted?: (() => void) | undefined;
  readonly isBusy: boolean;
  /** False while somebody else has the keys, such as an approval. The text stays. */
  readonly isActive?: boolean | undefined;
  /** Cells of the whole prompt, as `<Prompt>` gets it. */
  readonly width: number;
  /** The same object as long as nothing in it changes. */
  readonly sources?: CompletionSources | undefined;
  /** What was sent before, the oldest first. A new list takes the place of the old. */
  readonly history?: readonly HistoryEntry[] | undefined;
  readonly clock?: Clock | undefined;
}

export interface Editor {
  readonly state: EditorState;
  readonly menu: Menu | undefined;
  /** For what does not come from keys, such as `{ type: 'set', text }`. */
  readonly dispatch: (action: EditAction) => void;
}

const nothing: CompletionSources = {};
const noHistory: readonly HistoryEntry[] = [];

/**
 * Keys → edits → what `<Prompt>` shows.
 *
 * @example
 * const { state, menu } = useEditor({ width, isBusy, onSubmit, onQueue, onStop, onLeave, sources, history });
 * return <Prompt state={state} menu={menu} width={width} isBusy={isBusy} />;
 */
export function useEditor(options: UseEditorOptions): Editor {
  const { sources = nothing, history = noHistory, isActive, clock } = options;
  const [store] = useState(() => new EditorStore(history));
  const { state, menu } = useSyncExternalStore(store.subscribe, store.snapshot);
  useEffect(() => store.setSources(sources), [store, sources]);
  useEffect(() => store.dispatch({ type: 'history', entries: history }), [store, history]);
  const onKey = (key: Key) => {
    if (options.onKey?.(key) === true) return;
    const isEmpty = store.snapshot().state.text === '';
    if (isEmpty && isPlainEnter(key)) return options.onEmptyEnter?.();
    const { isBusy, width, onQueue, onTakeBack } = options;
    const can = { canQueue: onQueue !== undefined, canTakeBack: onTakeBack !== undefined };
    const effect = store.press(key, { isBusy, ...can, width: width - markWidth });
    if (effect !== undefined) perform(effect, options);
    if (store.wantsFiles()) options.onFilesWanted?.();
  };
  useKeys(onKey, { isActive, clock });
  return { state, menu, dispatch: store.dispatch };
}

function isPlainEnter(key: Key): boolean {
  return key.type === 'key' && key.name === 'enter' && !key.shift && !key.alt && !key.ctrl;
}

function perform(effect: Effect, options: UseEditorOptions): void {
  switch (effect.type) {
    case 'stop':
      return options.onStop();
    case 'leave':
      return options.onLeave();
    case 'interrupt':
      return (options.onInterrupt ?? options.onLeave)();
    case 'take_back':
      return options.onTakeBack?.();
    case 'keep':
      return keep(effect.sent, options);
    case 'submit':
    case 'queue':
      return send(effect.type, effect.sent, options);
  }
}

function keep({ text, folds }: EditorState, { onSent }: UseEditorOptions): void {
  if (isKept(text)) onSent?.(folds.length > 0 ? { text, folds } : { text });
}

function send(type: 'submit' | 'queue', sent: EditorState, options: UseEditorOptions): void {
  const { text } = sent;
  keep(sent, options);
  const whole = text.trimEnd();
  return type === 'queue' ? options.onQueue?.(whole) : options.onSubmit(whole);
}

interface EditorSnapshot {
  readonly state: EditorState;
  readonly menu: Menu | undefined;
}

/**
 * Holds the editor outside of React: keys that come in one chunk each see what the one before did,
 * and a change is drawn at once instead of waiting behind what streams.
 */
export class EditorStore {
  #view: EditorView;
  #sources: CompletionSources = {};
  #found: Completions | undefined;
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

  readonly dispatch = (action: EditAction): void => this.#become(withEdit(this.#view, action));

  /** What `@` and `/` offer has changed, while a list may be open. */
  setSources(sources: CompletionSources): void {
    if (sources === this.#sources) return;
    this.#sources = sources;
    this.#become(this.#view);
  }

  press(key: Key, context: Omit<PressContext, 'found'>): Effect | undefined {
    const { view, effect } = pressKey(this.#view, key, { ...context, found: this.#found });
    this.#become(view);
    return effect;
  }

  /** An @ is being typed. */
  wantsFiles(): boolean {
    return this.#view.mayComplete && isNamingFile(this.#view.state);
  }

  #become(view: EditorView): void {
    this.#view = view;
    this.#found = completions(view.state, this.#sources);
    const menu = menuOf(view, this.#found);
    const { state, menu: before } = this.#snapshot;
    const isSame = state === view.state && menu === undefined && before === undefined;
    if (isSame) return;
    this.#snapshot = { state: view.state, menu };
    for (const listener of this.#listeners) listener();
  }
}
