import type { Clock } from '@millrace/agent';
import { useEffect, useState, useSyncExternalStore } from 'react';
import type { CompletionSources, Menu } from '../completion/completion.ts';
import type { EditAction, EditorState, HistoryEntry } from '../editor/editor-state.ts';
import type { Key } from '../keys/key.ts';
import type { KeyRead } from '../keys/key-reader.ts';
import { useKeys } from '../keys/use-keys.ts';
import { type EditorOptions, EditorStore, pressInEditor } from './editor-store.ts';

export interface UseEditorOptions extends EditorOptions {
  /**
   * False while a different component, such as a dialog, receives the keys. The text stays.
   * Default: true.
   */
  readonly isActive?: boolean | undefined;
  /** The commands and files to offer. Pass the same object while its content does not change. */
  readonly sources?: CompletionSources | undefined;
  /** Texts that the user sent before, oldest first. A new list replaces the old one. */
  readonly history?: readonly HistoryEntry[] | undefined;
  readonly clock?: Clock | undefined;
}

export interface Editor {
  readonly state: EditorState;
  readonly menu: Menu | undefined;
  /** Applies an edit that does not come from a key, such as `{ type: 'set', text }`. */
  readonly dispatch: (action: EditAction) => void;
  /**
   * Applies a key. It also works while the editor is not active. `isAlone` is false if the key arrived together with
   * others. Default: true.
   */
  readonly press: (key: Key, isAlone?: boolean) => void;
  /** Returns the current text. `state` contains the text of the last render, which may be older. */
  readonly currentText: () => string;
  /** Returns the current state. It is always the same function. */
  readonly snapshot: () => { readonly state: EditorState };
}

const noSources: CompletionSources = {};
const noHistory: readonly HistoryEntry[] = [];

/**
 * Connects the keys of the terminal to an editor that `<Prompt>` draws.
 *
 * @example const { state, menu } = useEditor({ width, isBusy, onSubmit, onQueue, onStop, onLeave,
 * sources, history }); return <Prompt state={state} menu={menu} width={width} isBusy={isBusy} />;
 */
export function useEditor(options: UseEditorOptions): Editor {
  const { sources = noSources, history = noHistory, isActive, clock } = options;
  const [store] = useState(() => new EditorStore(history));
  const { state, menu } = useSyncExternalStore(store.subscribe, store.snapshot);
  useEffect(() => store.setSources(sources), [store, sources]);
  useEffect(() => store.dispatch({ type: 'history', entries: history }), [store, history]);
  const press = (key: Key, isAlone = true) => pressInEditor(store, key, options, isAlone);
  const read = ({ keys, isAlone }: KeyRead) => {
    for (const key of keys) press(key, isAlone);
  };
  useKeys(read, { isActive, clock });
  const currentText = () => store.snapshot().state.text;
  return { state, menu, dispatch: store.dispatch, press, currentText, snapshot: store.snapshot };
}
